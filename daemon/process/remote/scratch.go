package remote

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"culprit/daemon/process/raw"
)

// Where a frame may be put that a thread comes back from by itself if we are killed: memory of the target that is dead for certain. There
// is little of it. What lies below the stack pointer of the thread that makes the calls is borrowed for all calls of a Stop; what lies elsewhere for two
// only, that which maps a page of ours and that which unmaps it (own.go). What is borrowed gets its bytes back before anybody runs.
//
// Best is what was never used: no page of it is in memory or swapped out. Next best is what holds nothing but zeros. Both are looked for
// only below a stack pointer, on a stack whose end is known, or on the stack of the main thread; first on the stack of the thread that makes
// the call, because that one may be held back for longer than we wait. Where there is neither, what lies below the stack pointer on such a
// stack is dead because nothing else has a right to it. Last, the main stack is made longer.

const (
	redZone = 128

	lookFar       = 16 // places on one stack that are looked at, a page apart
	lookAtThreads = 64
)

// A stackRoom is the part of a stack below all stack pointers.
type stackRoom struct {
	lo, hi raw.Addr
	below  bool // nobody else can have anything there, so that it is dead whatever it holds
	own    bool // it lies below the stack pointer of the thread that makes the call, and no other thread is on that stack
}

// Apart is how far below the stack pointer of another thread a frame must be. Should we be killed while a thread is in its call, that one
// runs at once and goes down. Below a pointer of its own nothing runs before the thread is back.
const Apart = 32 << 10

// FindScratch gives the low end of n dead bytes for a call that a thread makes. own says that they lie below its own stack pointer, and nobody else is
// on that stack.
func (w *Caller) FindScratch(caller, n int) (at raw.Addr, own bool, err error) {
	maps, err := w.stackMaps()
	if err != nil {
		return 0, false, err
	}
	mine, others := w.threadRooms(caller, maps)
	main := w.mainRoom(caller, maps)
	for _, rooms := range [][]stackRoom{mine, main, others} {
		if a, own, ok := w.vacant(rooms, n); ok {
			return a, own, nil
		}
	}
	for _, r := range slices.Concat(mine, main, others) {
		if r.below && r.fits(n) && w.unoccupied(r.lo, n) && w.readable(r.lo, n) {
			return r.lo, r.own, nil
		}
	}
	for _, t := range w.threads {
		if sp := raw.Addr(t.Regs.Rsp); sp >= ownFirst && sp < ownLast+ownSize { // not on its own stack yet, after a tracer was killed
			return 0, false, raw.Late(w.pid, t.TID, time.Since(w.begin), false)
		}
	}
	if a, own, ok := w.lengthen(caller, n); ok {
		return a, own, nil
	}
	return 0, false, &raw.Unsupported{What: fmt.Sprintf("no stack with %d KiB of free room and a known end for a system call", (n+1023)>>10),
		Needs: "a thread with a stack of the C library, or a main stack with that much left of its limit", Passes: true}
}

func (r stackRoom) fits(n int) bool { return r.hi >= r.lo && uint64(r.hi-r.lo) >= uint64(n) }

// vacant finds n bytes that hold nothing.
func (w *Caller) vacant(rooms []stackRoom, n int) (at raw.Addr, own, ok bool) {
	unused := func(a raw.Addr, n int) bool { return w.untouched(a, n) && w.readable(a, n) }
	for _, empty := range []func(raw.Addr, int) bool{unused, w.zeros} {
		for _, r := range rooms {
			first := r.lo
			for ; r.fits(n) && r.lo < first+lookFar*raw.PageSize; r.lo = (r.lo + raw.PageSize) &^ (raw.PageSize - 1) {
				if w.unoccupied(r.lo, n) && empty(r.lo, n) {
					return r.lo, r.own, true
				}
			}
		}
	}
	return 0, false, false
}

// mainRoom is that of the main thread's stack, whoever stands there: programs with stacks of their own leave it.
func (w *Caller) mainRoom(caller int, maps []raw.Mapping) (rooms []stackRoom) {
	for _, m := range maps {
		if m.Path == "[stack]" && m.Perms&(raw.Read|raw.Write) == raw.Read|raw.Write {
			hi, below := w.lowest(caller, m.Start, m.End)
			rooms = append(rooms, stackRoom{m.Start, hi, below, w.isAlone(caller, m.Start, m.End)})
		}
	}
	return rooms
}

// threadRooms are those of threads that stand on a stack whose end is known: the caller's own, where nobody goes before it is back, however long
// that takes, and those of others.
func (w *Caller) threadRooms(caller int, maps []raw.Mapping) (mine, others []stackRoom) {
	for i, t := range w.threads {
		if i >= lookAtThreads && t.TID != caller {
			continue
		}
		switch r, ok := w.threadRoom(t, caller, maps); {
		case ok && r.below && t.TID == caller:
			mine = append(mine, r)
		case ok:
			others = append(others, r)
		}
	}
	return mine, others
}

func (w *Caller) threadRoom(t *raw.Stopped, caller int, maps []raw.Mapping) (r stackRoom, ok bool) {
	m, ok := raw.FindMapping(maps, raw.Addr(t.Regs.Rsp))
	if !ok || m.Perms&(raw.Read|raw.Write) != raw.Read|raw.Write || m.Inode != 0 || m.Path != "" {
		return r, false
	}
	lo, end, known := w.StackOf(t)
	if ok = known; !ok {
		lo, end, ok = w.guarded(t, m, maps)
	}
	lo = (max(lo, m.Start) + 15) &^ 15
	hi, _ := w.lowest(caller, lo, end)
	return stackRoom{lo, hi, known, known && w.isAlone(caller, lo, end)}, ok
}

// isAlone says whether a thread is on a stack, and no other one.
func (w *Caller) isAlone(caller int, lo, hi raw.Addr) bool {
	there := false
	for _, t := range w.threads {
		if sp := raw.Addr(t.Regs.Rsp); sp < lo || sp >= hi {
			continue
		}
		if t.TID != caller {
			return false
		}
		there = true
	}
	return there
}

// lowest is where the room on a stack ends: below the red zone of the lowest stack pointer on it, further below that of another thread. main
// says that there is one of the main thread.
func (w *Caller) lowest(caller int, lo, hi raw.Addr) (end raw.Addr, main bool) {
	end = hi
	for _, t := range w.threads {
		if sp := raw.Addr(t.Regs.Rsp); sp >= lo && sp < hi {
			below := sp - redZone
			if t.TID != caller {
				below = max(lo, sp-min(sp, Apart))
			}
			end = min(end, below)
			main = main || t.TID == w.pid
		}
	}
	return end, main
}

// Where the C library keeps the bounds of a thread's stack, in glibc's struct pthread, three words follow each other: the low end, the size,
// and the size of the guard. Their place differs from version to version, but only one can be right.
const (
	descriptorSize = 0x1000 // more than any version's
	descriptorMin  = 0x400  // less
)

// StackOf asks a thread's descriptor in the C library for the bounds of its stack, without the guard. The stack pointer and the descriptor itself
// must lie on it, the latter at its upper end.
func (w *Caller) StackOf(t *raw.Stopped) (lo, end raw.Addr, ok bool) {
	sp, tp := raw.Addr(t.Regs.Rsp), raw.Addr(t.Regs.Fs_base)
	b := make([]byte, descriptorSize)
	n, _ := w.mem.Pread(b, tp)
	for i := 0; i+24 <= n; i += 8 {
		low, size, guard := raw.Addr(raw.Uint64(b[i:])), raw.Uint64(b[i+8:]), raw.Uint64(b[i+16:])
		high := low + raw.Addr(size)
		if size > 1<<40 || guard >= size || guard%raw.PageSize != 0 || low+raw.Addr(guard) > sp || sp >= tp || high < tp+descriptorMin || high > tp+2*descriptorSize {
			continue
		}
		if ok {
			return 0, 0, false // two answers are none
		}
		lo, end, ok = low+raw.Addr(guard), high, true
	}
	return lo, end, ok
}

// guarded takes a mapping for a thread's stack that nobody else is on, and below which there is a guard. It may be something else all the
// same (the heap of another thread, with stacks that the program made): only what is vacant there is dead.
func (w *Caller) guarded(t *raw.Stopped, m raw.Mapping, maps []raw.Mapping) (lo, end raw.Addr, ok bool) {
	sp, tp := raw.Addr(t.Regs.Rsp), raw.Addr(t.Regs.Fs_base)
	if !m.Contains(tp) || tp < sp || tp-sp > 1<<30 {
		return 0, 0, false
	}
	for _, other := range w.threads {
		if other.TID != t.TID && (m.Contains(raw.Addr(other.Regs.Rsp)) || m.Contains(raw.Addr(other.Regs.Fs_base))) {
			return 0, 0, false
		}
	}
	guard := func(g raw.Mapping) bool {
		return g.End == m.Start && g.Perms&(raw.Read|raw.Write|raw.Exec) == 0 && g.Len() < 1<<20
	}
	return m.Start, tp, slices.ContainsFunc(maps, guard)
}

// unoccupied: no thread stands on the piece or keeps its descriptor there. One that comes back from a call of a tracer that was killed would.
func (w *Caller) unoccupied(a raw.Addr, n int) bool {
	for _, t := range w.threads {
		sp, tp := raw.Addr(t.Regs.Rsp), raw.Addr(t.Regs.Fs_base)
		if sp >= a && sp < a+raw.Addr(n) || tp >= a && tp < a+raw.Addr(n) {
			return false
		}
	}
	return true
}

// untouched says whether no page of the range was ever used: neither in memory nor swapped out.
func (w *Caller) untouched(a raw.Addr, n int) bool {
	pages, err := raw.OpenPagemap(w.pid)
	if err != nil {
		return false
	}
	defer pages.Close()
	first, last := a/raw.PageSize, (a+raw.Addr(n)-1)/raw.PageSize
	entries := make([]byte, (last-first+1)*8)
	if _, err := pages.ReadAt(entries, int64(first)*8); err != nil {
		return false
	}
	const present, swapped = 1 << 63, 1 << 62
	for ; len(entries) > 0; entries = entries[8:] {
		if binary.LittleEndian.Uint64(entries)&(present|swapped) != 0 {
			return false
		}
	}
	return true
}

// readable says whether there are bytes: a program that fills its memory itself (userfaultfd) cannot do so while it stands still.
func (w *Caller) readable(a raw.Addr, n int) bool { return w.mem.Read(a, make([]byte, n)) == nil }

// zeros says whether the range holds nothing else.
func (w *Caller) zeros(a raw.Addr, n int) bool {
	b := make([]byte, n)
	return w.mem.Read(a, b) == nil && !slices.ContainsFunc(b, func(v byte) bool { return v != 0 })
}
