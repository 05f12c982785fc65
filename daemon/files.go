package daemon

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// What descriptors stand for. A resource of /IO is a name: a path, a peer, a pipe; the descriptors that stand for it now are found by
// looking at all that are open, again and again. Probes know files by numbers, which stand in a table by descriptor in the segment
// (trampoline.ExFile): what is written to the file counts for it, by whichever descriptor, and what the same descriptor stands for
// later does not.

// A fileTable knows the open files, sockets and pipes of a target. d.mu is held when it is used.
type fileTable struct {
	t       *target
	open    map[int]descriptor
	seen    map[string]*seenFile // by part, as in a focus
	numbers map[string]uint32    // of those that somebody asked for
	looked  float64              // session time of the last look; 0 = never
	took    time.Duration
	askedAt float64 // session time at which it was asked whether probes may read memory
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
}

func newFileTable(t *target) *fileTable {
	return &fileTable{t: t, open: map[int]descriptor{}, seen: map[string]*seenFile{}, numbers: map[string]uint32{}}
}

// Bounds of what is looked at and remembered.
const (
	maxFDs    = trampoline.MaxDescriptors
	maxSeen   = 100_000
	goneFor   = 3.0 // seconds after which what is not open any more is no resource
	freshFor  = 0.5 // seconds after which files are looked at again where somebody wants to know them
	lookShare = 50  // a look may take one part in so many of the time until the next
)

// due tells whether it is time to look again, after some seconds at least.
func (f *fileTable) due(now, after float64) bool {
	return f.looked == 0 || now-f.looked >= max(after, lookShare*f.took.Seconds())
}

// look finds out what all descriptors stand for now, and tells the probes.
func (f *fileTable) look(now float64) {
	began := time.Now()
	fds, err := kernel.FDs(f.t.proc.PID(), maxFDs)
	if err != nil {
		return
	}
	still := make(map[int]bool, len(fds))
	for _, fd := range fds {
		still[fd] = true
		f.lookAt(fd)
		if o, ok := f.open[fd]; ok {
			f.seen[o.part] = &seenFile{at: now}
		}
	}
	for fd := range f.open {
		if !still[fd] {
			delete(f.open, fd)
			f.tell(fd, f.word(fd), 0)
		}
	}
	f.looked = now
	f.retire(now)
	f.took = time.Since(began)
}

// lookAt names what a descriptor stands for, if that has changed, and tells the probes. The word is read before anything else: where the
// descriptor is closed meanwhile, they are not told.
func (f *fileTable) lookAt(fd int) {
	word := f.word(fd)
	link, err := kernel.FDLink(f.t.proc.PID(), fd)
	if err != nil {
		return
	}
	o, known := f.open[fd]
	used := uint32(word >> 32)
	if !known || o.link != link || o.to.Unsettled {
		to, err := kernel.FDTarget(f.t.proc.PID(), fd)
		if err != nil {
			return
		}
		if !known || o.used != used || !sameFile(o.to, to) { // else it was only renamed or deleted
			o.part = f.learn(to)
		}
		o.link, o.to = link, to
	}
	o.used = used
	f.open[fd] = o
	f.tell(fd, word, f.numberOf(o.part))
}

// numberOf is what probes know a part by: its own number if somebody asked for it, else only its kind.
func (f *fileTable) numberOf(part string) uint32 {
	if n := f.numbers[part]; n != 0 {
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

// word is what the probes have for a descriptor.
func (f *fileTable) word(fd int) uint64 {
	if f.t.seg == nil || fd < 0 || fd >= trampoline.MaxDescriptors {
		return 0
	}
	return atomic.LoadUint64(f.t.seg.FileWord(fd))
}

// tell writes a number for a descriptor, unless it was closed since the word was read.
func (f *fileTable) tell(fd int, word uint64, number uint32) {
	if uint32(word) == number || f.t.seg == nil || fd < 0 || fd >= trampoline.MaxDescriptors {
		return
	}
	atomic.CompareAndSwapUint64(f.t.seg.FileWord(fd), word, word>>32<<32|uint64(number))
}

// ioKinds are the kinds of /IO; what is none of these is a file.
var ioKinds = map[kernel.FDKind]string{kernel.FDSocket: "Socket", kernel.FDPipe: "Pipe"}

// learn makes what a descriptor stands for a resource.
func (f *fileTable) learn(to kernel.FD) (part string) {
	kind, name := ioKinds[to.Kind], to.Name
	if kind == "" {
		kind = "File"
	}
	if to.Kind == kernel.FDPipe {
		name = f.t.d.pipes.nameOf(to, f.t.proc.PID())
	}
	part = grid.IO.String() + "/" + kind + "/" + name
	f.seen[part] = &seenFile{at: f.t.d.Now()}
	f.t.d.tree.Add(grid.IO, kind, name)
	return part
}

// retire takes out of the tree what was not open for a while in any process. It is remembered, so that a pair can be made at it.
func (f *fileTable) retire(now float64) {
	for part, s := range f.seen {
		if s.retired || now-s.at < goneFor || f.t.d.openElsewhere(part, now) {
			continue
		}
		f.t.d.tree.Retire(grid.IO, strings.SplitN(part, "/", 3)[1:]...)
		if s.retired = true; len(f.seen) > maxSeen {
			delete(f.seen, part)
		}
	}
}

// openElsewhere tells whether another target had it open lately, or when it was last looked at: of many targets each has its turn.
func (d *Daemon) openElsewhere(part string, now float64) bool {
	for _, t := range d.targets {
		if s := t.files.seen[part]; s != nil && !t.ended && (now-s.at < goneFor || s.at >= t.files.looked) {
			return true
		}
	}
	return false
}

// at names what a descriptor stands for; "" if it is not open.
func (f *fileTable) at(fd int) string {
	if fd < 0 {
		return ""
	}
	f.lookAt(fd)
	return f.open[fd].part
}

// number is what probes know a file by; ok is false if it was never open.
func (f *fileTable) number(elems []string) (n uint64, ok bool) {
	part := grid.IO.String() + "/" + elems[0] + "/" + elems[1]
	if now := f.t.d.Now(); f.seen[part] == nil && now-f.looked >= 10*f.took.Seconds() {
		f.look(now)
	}
	if f.seen[part] == nil {
		return 0, false
	}
	if f.numbers[part] == 0 {
		if len(f.numbers) >= 1<<pcl.FileKindShift-1 {
			return 0, false
		}
		f.numbers[part] = kindNumber(elems[0]) | uint32(len(f.numbers)+1)
	}
	return uint64(f.numbers[part]), true
}

// followFiles keeps up with what the descriptors stand for that pairs are at. d.mu is held.
func (d *Daemon) followFiles(now float64) {
	for _, t := range d.targets {
		if !t.ended && t.files.due(now, 0) && t.files.measured(d.pairs) {
			t.files.look(now)
		}
	}
}

// tellFiles tells the probes of new pairs what descriptors stand for. d.mu is held.
func (d *Daemon) tellFiles(pairs map[grid.PairKey]*pair) {
	for _, t := range d.targets {
		if !t.ended && t.files.measured(pairs) {
			t.files.look(d.Now())
		}
	}
}

// measured tells whether a pair asks what descriptors stand for.
func (f *fileTable) measured(pairs map[grid.PairKey]*pair) bool {
	for _, p := range pairs {
		for _, pt := range p.parts {
			if pt.t == f.t && pt.follows {
				return true
			}
		}
	}
	return false
}

// findFiles looks at the open files of all targets that were not looked at for some seconds. d.mu is held.
func (d *Daemon) findFiles(after float64) {
	now := d.Now()
	for _, t := range d.targets {
		if !t.ended && t.files.due(now, after) {
			t.files.look(now)
		}
	}
}

// findFilesInTurn looks at those of the targets whose turn it is, and of those that were never looked at. d.mu is held.
func (d *Daemon) findFilesInTurn() {
	now := d.Now()
	for i, t := range d.targets {
		if !t.ended && t.files.due(now, 0) && (t.files.looked == 0 || d.hasTurn(i, d.looks.loads)) {
			t.files.look(now)
		}
	}
}

// manyFiles is how many files are offered to the search on which nobody was seen waiting.
const manyFiles = 64

// worthAsking leaves of very many files those that somebody was seen waiting for, and some. d.mu is held.
func (d *Daemon) worthAsking(all []grid.Focus) []grid.Focus {
	if len(all) <= manyFiles {
		return all
	}
	var out []grid.Focus
	left := manyFiles
	for _, f := range all {
		part := objectPart(f)
		waited := slices.ContainsFunc(d.targets, func(t *target) bool { return t.profile.waited(part) })
		if waited || left > 0 {
			out = append(out, f)
		}
		if !waited {
			left--
		}
	}
	return out
}

// waited tells whether samples of late saw a thread that waited for a file or a lock.
func (p *profile) waited(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kinds[kindIO].objects[part] > 0 || p.kinds[kindSync].objects[part] > 0
}
