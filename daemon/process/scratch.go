package process

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Where to put a frame: memory of the target that is dead for certain, since a killed tracer leaves its bytes there.

const (
	scratchSize = 32 << 10 // a frame with the largest vector state, and a name
	redZone     = 128
	pageSize    = 4096
)

// scratchMark stands at the low end of a piece that was used before. The next one may use it again, although its pages are no longer untouched.
var scratchMark = []byte("culprit scratch\x00")

// findScratch gives the low end of scratchSize dead bytes. Candidates: the far end of the main stack, if the main thread stands
// well above it or it was never touched (a Go program's main thread runs elsewhere); the stack of a thread that libc made.
func (w *World) findScratch() (Addr, error) {
	maps, err := w.stackMaps()
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m.Path == "[stack]" && m.Perms&(Read|Write) == Read|Write {
			if a, ok := w.scratchInMain(m); ok {
				return a, nil
			}
		}
	}
	for _, t := range w.threads {
		if a, ok := w.scratchInThread(maps, t); ok {
			return a, nil
		}
	}
	return 0, &Unsupported{What: "no stack with 32 KiB of free room for a system call", Needs: "a thread with a stack of the C library, or an unused end of the main stack"}
}

func (w *World) scratchInMain(m Mapping) (Addr, bool) {
	if m.Len() < scratchSize {
		return 0, false
	}
	for _, t := range w.threads {
		if t.TID == w.s.p.pid && m.Contains(Addr(t.Regs.Rsp)) {
			return m.Start, Addr(t.Regs.Rsp)-redZone >= m.Start+scratchSize && w.unoccupied(m.Start)
		}
	}
	for a := m.Start; a+scratchSize <= m.End-scratchSize; a += scratchSize {
		if w.unoccupied(a) && (w.marked(a) || w.s.p.untouched(a, scratchSize)) {
			return a, true
		}
	}
	return 0, false
}

// unoccupied: no thread stands on the piece. One that a killed tracer left in a call would.
func (w *World) unoccupied(a Addr) bool {
	for _, t := range w.threads {
		if sp := Addr(t.Regs.Rsp); sp >= a && sp < a+scratchSize {
			return false
		}
	}
	return true
}

func (w *World) marked(a Addr) bool { return w.s.p.holds(a, scratchMark) }

// untouched says whether no page of the range was ever used: neither in memory nor swapped out.
func (p *Process) untouched(a Addr, n int) bool {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/pagemap", p.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	entries := make([]byte, n/pageSize*8)
	if k, err := unix.Pread(fd, entries, int64(a)/pageSize*8); err != nil || k != len(entries) {
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

// scratchInThread takes room below a thread that stands on a stack of the C library: there, and only there, the thread's own
// descriptor (fs_base) lies in the same mapping above the stack pointer. Goroutines, coroutines and alternate stacks fail this test.
func (w *World) scratchInThread(maps []Mapping, t *Stopped) (Addr, bool) {
	sp, tp := Addr(t.Regs.Rsp), Addr(t.Regs.Fs_base)
	m, ok := findMapping(maps, sp)
	if !ok || m.Perms&(Read|Write) != Read|Write || !m.Contains(tp) || tp < sp || m.Inode != 0 || m.Path != "" {
		return 0, false
	}
	if tp-sp > 1<<30 || sp < m.Start+scratchSize+redZone+2*pageSize {
		return 0, false
	}
	a := (sp - redZone - scratchSize) &^ 15
	return a, w.unoccupied(a)
}
