package locks

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"culprit/daemon/libc"
	"culprit/grid"
)

// Names finds the names of locks in the process.
type Names struct {
	// Lock finds the variable that holds a futex word of a lock of a kind, and the address of the lock in it. name is "" where no variable does.
	Lock func(word uint64, k libc.Wait) (addr uint64, name string)
	// Thread is the handle and the name of the thread that is waited for by a word, "" if it is not known.
	Thread func(word uint64) (addr uint64, name string)
}

// A Wait is what a thread waits for by a futex word, and what its stack says of it.
type Wait struct {
	Word uint64
	Kind libc.Wait
	User string // function that waits, the C library left out, or that of the library through which a lock of its own is waited for; "" if it is not known
	// HeldBy names the lock at an address by the variables of the functions that wait, or by what a lock of the C library guards; "" if nothing tells.
	HeldBy func(addr uint64) string
}

// A Table knows the locks of a process.
type Table struct {
	tree  *grid.Tree
	names Names

	mu     sync.Mutex
	byName map[string]uint64 // address by part of a focus; a lock may be known by two
	locks  map[uint64]*lock  // those that have a name, by address
	words  map[uint64]*word  // futex words on which a thread was seen waiting
	ended  map[string]bool   // parts of the past
	taken  int               // how many are known by being taken

	unnamed   int     // words whose lock wants a better name
	nextSight float64 // session time from which names are made anew
}

// A lock is one that has a name.
type lock struct {
	bare string // its name if that is only its address, until somebody who waits for it tells more
	idle bool   // it is known by being taken, and nobody was seen waiting for it
}

// A word is the futex word of a lock; a lock may have several.
type word struct {
	part   string    // of its lock; "" if it has none yet
	unsure bool      // no stack has told yet of which kind its lock is
	sight  *sighting // of one that may end; nil of a variable
	wants  bool      // it has no name but its address
	tries  int       // how often one was looked for at a stop
}

// MaxTaken is how many locks of a process become known by being taken.
const MaxTaken = 1000

// Bounds of what is remembered.
const (
	maxEnded   = 1 << 14 // locks of the past
	maxUnnamed = 1 << 16
)

// New makes the table of a process. Resources come into the tree and leave it as locks do.
func New(tree *grid.Tree, names Names) *Table {
	return &Table{tree: tree, names: names, byName: map[string]uint64{}, locks: map[uint64]*lock{}, words: map[uint64]*word{}, ended: map[string]bool{}}
}

// Part is a lock as a part of a focus: "SyncObject/Mutex/cache_lock".
func Part(kind, name string) string { return grid.SyncObject.String() + "/" + kind + "/" + name }

// split is the kind and the name of a part.
func split(part string) (kind, name string) {
	_, rest, _ := strings.Cut(part, "/")
	kind, name, _ = strings.Cut(rest, "/")
	return kind, name
}

// Address is what the name of a lock stands for.
func (t *Table) Address(kind, name string) (addr uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	addr, ok = t.byName[Part(kind, name)]
	return addr, ok
}

// HasEnded reports whether a lock is one of the past.
func (t *Table) HasEnded(kind, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended[Part(kind, name)]
}

// Waited names the lock that a thread waits for at a session time, as a part of a focus, and makes it a resource when it is first seen. It is
// "" until it is known what is waited for.
func (t *Table) Waited(w Wait, at float64) (part string) {
	known, ok, again := t.nameOf(w.Word, w.Kind, at)
	if ok && !again {
		return known
	}
	began := time.Now()
	addr, name := t.names.Lock(w.Word, w.Kind)
	variable := name != ""
	switch {
	case w.Kind.Kind == libc.Thread:
		addr, name = t.names.Thread(w.Word)
	case name == "":
		name = w.HeldBy(addr)
	}
	telling := name != ""
	if name == "" {
		name = w.bareName(addr)
	}
	library := w.Kind.Kind == libc.Library
	took := time.Since(began).Seconds()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nextSight = max(t.nextSight, at+sightRest*took)
	if library {
		name = t.numbered(name, addr)
	}
	if again && !t.isAnother(w.Word, Part(w.Kind.Kind, name), telling) {
		return known
	}
	if again {
		t.end(known)
	}
	part = t.learn(w.Kind.Kind, name, addr, w.Word)
	of := t.words[w.Word]
	if !variable {
		of.sight = &sighting{}
	}
	if !telling && !library && t.unnamed < maxUnnamed {
		t.want(of, true)
		of.tries = 0
	}
	return part
}

// bareName is the name of a lock of which nobody tells what it is: its address and who waits. A lock of the C library is called by the function that
// the program has called alone.
func (w *Wait) bareName(addr uint64) string {
	switch {
	case w.User == "":
		return fmt.Sprintf("%#x", addr)
	case w.Kind.Kind == libc.Library:
		return w.User
	}
	return fmt.Sprintf("%#x (%s)", addr, w.User)
}

// mostAlike is how many locks of the C library have numbers where all guard the same. More are called by their addresses.
const mostAlike = 100

// numbered is the name of a lock of the C library: those that guard the same are told apart by numbers. mu is held.
func (t *Table) numbered(name string, addr uint64) string {
	for i := 1; i <= mostAlike; i++ {
		one := name
		if i > 1 {
			one = fmt.Sprintf("%s %d", name, i)
		}
		if at, taken := t.byName[Part(libc.Library, one)]; !taken || at == addr {
			return one
		}
	}
	return fmt.Sprintf("%s %#x", name, addr)
}

// wordAt is what is known of a futex word. mu is held.
func (t *Table) wordAt(addr uint64) *word {
	w := t.words[addr]
	if w == nil {
		w = &word{}
		t.words[addr] = w
	}
	return w
}

// want notes whether a word wants a better name. mu is held.
func (t *Table) want(w *word, wants bool) {
	switch {
	case wants && !w.wants:
		t.unnamed++
	case !wants && w.wants:
		t.unnamed--
	}
	w.wants = wants
}

// nameOf returns the name of the lock of a futex word, if it has one that need not be looked for anew; k is what the stack says
// that it is. Stacks are read while threads may go on, and what was read of two waits leads nowhere: a lock is a bare futex
// only if it is seen as one twice, and until it is seen as something else. again says that it is time to look whether it is still
// the lock that it was.
func (t *Table) nameOf(addr uint64, k libc.Wait, at float64) (part string, ok, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.wordAt(addr)
	switch bare := k.Kind == libc.Futex; {
	case w.part != "" && (bare || !w.unsure):
		return w.part, true, t.mayEnd(w, at)
	case bare && !w.unsure:
		w.unsure = true
		return "", true, false
	case w.part != "":
		kind, name := split(w.part)
		t.tree.Retire(grid.SyncObject, kind, name)
		w.part = ""
	}
	w.unsure = k.Kind == libc.Futex
	return "", false, false
}

// learn makes a lock a resource. mu is held.
func (t *Table) learn(kind, name string, addr, at uint64) (part string) {
	part = Part(kind, name)
	t.byName[part] = addr
	delete(t.ended, part)
	t.wordAt(at).part = part
	l := t.locks[addr]
	if l == nil {
		l = &lock{}
		t.locks[addr] = l
	}
	l.idle = false
	if l.bare != "" && l.bare != name { // it stays known by both, but is shown by one
		t.tree.Retire(grid.SyncObject, kind, l.bare)
		l.bare = ""
	}
	t.tree.Add(grid.SyncObject, kind, name)
	return part
}

// IsKnown reports whether the lock at an address has a name.
func (t *Table) IsKnown(addr uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.locks[addr] != nil
}

// Taken makes a lock a resource that nobody was seen waiting for.
func (t *Table) Taken(kind string, addr uint64) {
	_, name := t.names.Lock(addr, libc.Lock(kind))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken >= MaxTaken || t.locks[addr] != nil {
		return
	}
	t.taken++
	l := &lock{idle: true}
	if name == "" {
		name = fmt.Sprintf("%#x", addr)
		l.bare = name
	}
	t.byName[Part(kind, name)], t.locks[addr] = addr, l
	t.tree.Add(grid.SyncObject, kind, name)
}

// OnlyTaken reports whether a lock is known, and whether it is known by being taken alone: then nobody was seen waiting for it.
func (t *Table) OnlyTaken(kind, name string) (known, only bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	addr, known := t.byName[Part(kind, name)]
	l := t.locks[addr]
	return known, known && l != nil && l.idle
}

// triesForName is how often a better name is looked for at stops.
const triesForName = 3

// WantsNames reports whether a lock has no name but its address.
func (t *Table) WantsNames() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unnamed > 0
}

// WantsName reports whether the lock of a word that a stopped thread waits on has no name but its address, and counts that one is looked for.
func (t *Table) WantsName(addr uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.words[addr]
	if w == nil || !w.wants {
		return false
	}
	if w.tries++; w.tries >= triesForName {
		t.want(w, false)
	}
	return true
}

// Rename gives a lock that only its address named a better name. Pairs at the old one go on.
func (t *Table) Rename(at uint64, kind, name string, addr uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.words[at]
	if w == nil || w.part == "" {
		return
	}
	was, old := split(w.part)
	if was != kind {
		return
	}
	t.want(w, false)
	if l := t.locks[addr]; l != nil {
		l.bare = old
	} else {
		t.locks[addr] = &lock{bare: old}
	}
	t.learn(kind, name, addr, at)
}
