package openfiles

import (
	"strings"
	"sync/atomic"
	"time"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// Config is what a Table needs to know of its process.
type Config struct {
	PID int
	// Word is what probes have for a descriptor from 0 to trampoline.MaxDescriptors-1: the number of what it stands for, and above it how often
	// it was closed. nil while there are no probes.
	Word func(fd int) *uint64
	// MayRead tells whether probes may read what pointers lead to.
	MayRead func() bool
}

// A Table knows the open files, sockets and pipes of a process.
type Table struct {
	host *Host
	cfg  Config

	// mu of host guards these.
	open    map[int]descriptor
	seen    map[string]*seenFile // by part, as in a focus
	numbers map[string]uint32    // of those that somebody asked for
	looked  float64              // session time of the last look; 0 = never
	took    time.Duration
	askedAt float64 // session time at which it was asked whether probes may read memory; 0 = never
	reads   bool    // the answer
}

// A descriptor is what a descriptor stood for when it was last looked at.
type descriptor struct {
	link string // as the kernel says it, which is cheap to ask for
	to   kernel.FD
	part string // "IO/File//var/log/x"
	used uint32 // how often the descriptor had been closed, as far as probes saw it
}

// A seenFile is something that was open.
type seenFile struct {
	at      float64 // session time of the last look at which it was
	retired bool
	again   float64 // session time at which a descriptor was last found to have been opened for it anew
	times   int     // how often that was, with short pauses
}

// Bounds of what is looked at and remembered.
const (
	maxFDs    = trampoline.MaxDescriptors
	maxSeen   = 100_000
	lookShare = 50 // a look may take one part in so many of the time until the next
)

// GoneFor is after how many seconds what is not open any more is no resource.
const GoneFor = 3.0

// Looked reports whether the process was ever looked at.
func (t *Table) Looked() bool {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.looked > 0
}

// Due tells whether it is time to look again, after some seconds at least.
func (t *Table) Due(at, after float64) bool {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.looked == 0 || at-t.looked >= max(after, lookShare*t.took.Seconds())
}

// Look finds out what all descriptors stand for at a session time, and tells the probes.
func (t *Table) Look(at float64) {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	t.look(at)
}

func (t *Table) look(at float64) {
	began := time.Now()
	fds, err := kernel.FDs(t.cfg.PID, maxFDs)
	if err != nil {
		return
	}
	still := make(map[int]bool, len(fds))
	for _, fd := range fds {
		still[fd] = true
		t.lookAt(fd, at)
		if o, ok := t.open[fd]; ok {
			t.see(o.part, at)
		}
	}
	for fd := range t.open {
		if !still[fd] {
			delete(t.open, fd)
			t.tell(fd, t.word(fd), 0)
		}
	}
	t.looked = at
	t.retire(at)
	t.took = time.Since(began)
}

// lookAt names what a descriptor stands for, if that has changed, and tells the probes. The word is read before anything else: where the
// descriptor is closed meanwhile, they are not told.
func (t *Table) lookAt(fd int, at float64) {
	word := t.word(fd)
	link, err := kernel.FDLink(t.cfg.PID, fd)
	if err != nil {
		return
	}
	o, known := t.open[fd]
	used := uint32(word >> 32)
	anew := known && (o.link != link || o.used != used)
	if !known || o.link != link || o.to.Unsettled {
		to, err := kernel.FDTarget(t.cfg.PID, fd)
		if err != nil {
			return
		}
		if !known || o.used != used || !sameFile(o.to, to) { // else it was only renamed or deleted
			o.part = t.learn(to, at)
		}
		o.link, o.to = link, to
	}
	o.used = used
	t.open[fd] = o
	if s := t.seen[o.part]; s != nil && anew {
		s.openedAgain(at)
	}
	t.tell(fd, word, t.numberOf(o.part))
}

// numberOf is what probes know a part by: its own number if somebody asked for it, else only its kind.
func (t *Table) numberOf(part string) uint32 {
	if n := t.numbers[part]; n != 0 {
		return n
	}
	kind, _, _ := strings.Cut(part[len("IO/"):], "/")
	return kindNumber(kind)
}

func kindNumber(kind string) uint32 { return uint32(pcl.FileKinds[kind]) << pcl.FileKindShift }

// sameFile tells whether two names are those of one file.
func sameFile(a, b kernel.FD) bool {
	return a.Inode != 0 && a.Kind == b.Kind && a.Inode == b.Inode && a.Dev == b.Dev && a.Kind != kernel.FDSocket
}

// wordOf is where the probes have a descriptor; nil if they have none.
func (t *Table) wordOf(fd int) *uint64 {
	if fd < 0 || fd >= trampoline.MaxDescriptors {
		return nil
	}
	return t.cfg.Word(fd)
}

// word is what the probes have for a descriptor.
func (t *Table) word(fd int) uint64 {
	if w := t.wordOf(fd); w != nil {
		return atomic.LoadUint64(w)
	}
	return 0
}

// tell writes a number for a descriptor, unless it was closed since the word was read.
func (t *Table) tell(fd int, word uint64, number uint32) {
	if w := t.wordOf(fd); w != nil && uint32(word) != number {
		atomic.CompareAndSwapUint64(w, word, word>>32<<32|uint64(number))
	}
}

// kinds are the kinds of /IO; what is none of these is a file.
var kinds = map[kernel.FDKind]string{kernel.FDSocket: "Socket", kernel.FDPipe: "Pipe"}

// Learn makes what a descriptor stands for at a session time a resource, and returns its part of a focus.
func (t *Table) Learn(to kernel.FD, at float64) (part string) {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.learn(to, at)
}

func (t *Table) learn(to kernel.FD, at float64) (part string) {
	kind, name := kinds[to.Kind], to.Name
	if kind == "" {
		kind = "File"
	}
	if to.Kind == kernel.FDPipe {
		name = t.host.pipes.nameOf(to, t.cfg.PID)
	}
	part = partOf([]string{kind, name})
	t.see(part, at)
	t.host.tree.Add(grid.IO, kind, name)
	return part
}

// see notes that something is open at a session time.
func (t *Table) see(part string, at float64) {
	s := t.seen[part]
	if s == nil {
		s = &seenFile{}
		t.seen[part] = s
	}
	s.at, s.retired = at, false
}

// A descriptor is opened again and again for the same if that is seen oftenAgain times, with pauses of at most GoneFor.
const oftenAgain = 3

func (s *seenFile) openedAgain(at float64) {
	if at-s.again > GoneFor {
		s.times = 0
	}
	s.again, s.times = at, s.times+1
}

// IsBrief tells whether connections to what the elements name last shorter than the time between two looks, by a session time: what is done on
// most of them, probes see on a descriptor that nobody has named yet. Files have their names from where they are opened.
func (t *Table) IsBrief(elems []string, at float64) bool {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	s := t.seen[partOf(elems)]
	return s != nil && len(elems) == 2 && elems[0] == "Socket" && s.times >= oftenAgain && at-s.again <= GoneFor
}

// partOf is a resource of /IO as a part of a focus.
func partOf(elems []string) string { return grid.IO.String() + "/" + strings.Join(elems, "/") }

// retire takes out of the tree what was not open for a while in any process. It is remembered, so that a pair can be made at it.
func (t *Table) retire(at float64) {
	for part, s := range t.seen {
		if s.retired || at-s.at < GoneFor || t.host.isOpen(part, at) {
			continue
		}
		t.host.tree.Retire(grid.IO, strings.SplitN(part, "/", 3)[1:]...)
		t.host.retireLock(part)
		if s.retired = true; len(t.seen) > maxSeen {
			delete(t.seen, part)
		}
	}
}

// At names what a descriptor stands for at a session time, as a part of a focus; "" if it is not open.
func (t *Table) At(fd int, at float64) string {
	if fd < 0 {
		return ""
	}
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	t.lookAt(fd, at)
	return t.open[fd].part
}

// Known is what probes know by what a descriptor stood for when it was last looked at, and still does; ok is false where that is not known without
// waiting for somebody else who looks.
func (t *Table) Known(fd int) (number uint64, ok bool) {
	if !t.host.mu.TryLock() {
		return 0, false
	}
	defer t.host.mu.Unlock()
	o, known := t.open[fd]
	if link, err := kernel.FDLink(t.cfg.PID, fd); err != nil || !known || link != o.link {
		return 0, false
	}
	return uint64(t.numberOf(o.part)), true
}

// Number is what probes know a file by, whose elements are its kind and name; ok is false if it was never open. If it is not known yet, the
// process is looked at.
func (t *Table) Number(elems []string, at float64) (n uint64, ok bool) {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	part := partOf(elems)
	if t.seen[part] == nil && at-t.looked >= 10*t.took.Seconds() {
		t.look(at)
	}
	if t.seen[part] == nil {
		return 0, false
	}
	if t.numbers[part] == 0 {
		if len(t.numbers) >= 1<<pcl.FileKindShift-1 {
			return 0, false
		}
		t.numbers[part] = kindNumber(elems[0]) | uint32(len(t.numbers)+1)
	}
	return uint64(t.numbers[part]), true
}
