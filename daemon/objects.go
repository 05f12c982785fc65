package daemon

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/grid"
)

// An objectTable knows the locks that threads of a target were seen waiting for, and what PCL's $constraint[0] stands for in each: an
// address. What descriptors stand for is known to the target's table of open files.
type objectTable struct {
	t      *target
	mu     sync.Mutex
	values map[string]uint64 // "SyncObject/Mutex/cache_lock" -> address
	names  map[uint64]string // futex word of a lock -> its part
	unsure map[uint64]bool   // futex words of locks whose kind no stack has told yet
	addrs  map[uint64]bool   // of locks that have a name
	bare   map[uint64]string // address of a lock that is called by it, until somebody who waits for it tells more -> that name

	unnamed  map[uint64]int  // futex words of locks that have no name but their address -> how often one was looked for at a stop
	numTaken int             // how many are known by being taken
	idle     map[uint64]bool // of those the addresses for which nobody was seen waiting

	sights    map[uint64]*sighting // by futex word, of locks that may end
	nextSight time.Time
	ended     map[string]bool // parts of the past

	lookedAtHolder time.Time // of any lock, by the one who samples
}

func newObjectTable(t *target) *objectTable {
	return &objectTable{t: t, values: map[string]uint64{}, names: map[uint64]string{}, unsure: map[uint64]bool{}, addrs: map[uint64]bool{}, bare: map[uint64]string{}, idle: map[uint64]bool{}, unnamed: map[uint64]int{},
		sights: map[uint64]*sighting{}, ended: map[string]bool{}}
}

// value returns what an object's name stands for. Locks with a symbol need not have been seen waiting.
func (o *objectTable) value(h grid.Hierarchy, elems []string) (uint64, bool) {
	if h == grid.SyncObject && len(elems) > 0 && elems[0] == "Message" {
		return o.message(elems[1:])
	}
	if len(elems) != 2 {
		return 0, false
	}
	if h == grid.IO {
		return o.t.files.Number(elems, o.t.d.Now())
	}
	o.mu.Lock()
	v, ok := o.values[h.String()+"/"+elems[0]+"/"+elems[1]]
	o.mu.Unlock()
	if ok || h != grid.SyncObject {
		return v, ok
	}
	return o.t.DataNamed(elems[1])
}

// waitedFor names what a blocked thread waits for, and makes it a resource when it is first seen. kind says whether it is
// another thread or a device.
func (o *objectTable) waitedFor(call kernel.BlockedCall, frames []frame, st blockedStack) (part string, kind int) {
	if call.NR == unix.SYS_FUTEX {
		return o.lock(call.Args[0], frames, st), kindSync
	}
	if arch.WaitsForDescriptor(call.NR) {
		return o.file(int(int32(call.Args[0]))), kindIO
	}
	return "", kindIO
}

// nameOf returns the name of the lock of a futex word, if it has one that need not be looked for anew; k is what the stack says
// that it is. Stacks are read while threads may go on, and what was read of two waits leads nowhere: a lock is a bare futex
// only if it is seen as one twice, and until it is seen as something else. again says that it is time to look whether it is still
// the lock that it was.
func (o *objectTable) nameOf(word uint64, k libc.Wait) (name string, ok, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, named := o.names[word]
	switch bare := k.Kind == libc.Futex; {
	case named && (bare || !o.unsure[word]):
		return was, true, o.mayEnd(word)
	case bare && !o.unsure[word]:
		o.unsure[word] = true
		return "", true, false
	case named:
		_, elems, _ := strings.Cut(was, "/")
		o.t.d.tree.Retire(grid.SyncObject, strings.SplitN(elems, "/", 2)...)
		delete(o.names, word)
	}
	o.unsure[word] = k.Kind == libc.Futex
	return "", false, false
}

// lock names the lock that a futex word belongs to. DWARF is read without holding o.mu.
func (o *objectTable) lock(word uint64, frames []frame, st blockedStack) string {
	k, user := waitingIn(frames)
	n, ok, again := o.nameOf(word, k)
	if ok && !again {
		return n
	}
	addr, name := o.t.nameLock(word, k)
	variable := name != ""
	switch {
	case k.Kind == libc.Thread:
		addr, name = o.t.joined(word)
	case name == "":
		name = o.t.heldBy(addr, st)
	}
	telling := name != ""
	if name == "" {
		name = fmt.Sprintf("%#x", addr)
		if user != nil {
			name += " (" + user.Fn.Name + ")"
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if again && !o.sighted(word, k.Kind, name, telling) {
		return n
	}
	if again {
		o.end(n)
	}
	n = o.learn(grid.SyncObject, k.Kind, name, addr, word)
	if !variable {
		o.sights[word] = &sighting{}
	}
	if !telling && len(o.unnamed) < maxKeys {
		o.unnamed[word] = 0
	}
	return n
}

// waitingIn finds the innermost waiting function on a stack, and who called it or what it is a part of in the library.
func waitingIn(frames []frame) (k libc.Wait, user *program.Function) {
	k = libc.Other
	found := false
	for _, fr := range frames {
		if fr.f == nil {
			continue
		}
		switch named, ok := kindOfWait(fr.f); {
		case ok && !found:
			k, found = named, true
		case !ok && found:
			return k, fr.f
		}
	}
	return k, nil
}

// kindOfWait is what a function waits for, if it is one of those that wait.
func kindOfWait(f *program.Function) (libc.Wait, bool) {
	for _, n := range f.Names() {
		if w, ok := libc.WaitIn(n); ok {
			return w, true
		}
	}
	return libc.Wait{}, false
}

// learn makes an object a resource.
func (o *objectTable) learn(h grid.Hierarchy, kind, name string, value, word uint64) string {
	part := h.String() + "/" + kind + "/" + name
	o.values[part] = value
	delete(o.ended, part)
	o.names[word], o.addrs[value] = part, true
	delete(o.idle, value)
	if old := o.bare[value]; old != "" && old != name { // it stays known by both, but is shown by one
		o.t.d.tree.Retire(h, kind, old)
		delete(o.bare, value)
	}
	o.t.d.tree.Add(h, kind, name)
	return part
}

// file names what a descriptor refers to.
func (o *objectTable) file(fd int) string { return o.t.files.At(fd, o.t.d.Now()) }
