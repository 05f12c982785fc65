package process

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"golang.org/x/sys/unix"
)

// A Stopped is one thread at rest.
type Stopped struct {
	TID int
	// Regs as the kernel shows them; Fs_base is the thread pointer. Changing them has no effect.
	Regs unix.PtraceRegs
	// InSyscall: the thread was broken out of a system call that it will make again.
	InSyscall bool
}

// PC is where the thread goes on.
func (t *Stopped) PC() Addr { return Addr(t.Regs.Rip) }

// Within says whether the thread may go on strictly inside (lo, hi): at an address where an instruction that starts at lo has been replaced.
// A thread in a system call counts with both addresses, that behind the syscall instruction and that of the instruction itself.
func (t *Stopped) Within(lo, hi Addr) bool {
	pc := t.PC()
	if pc > lo && pc < hi {
		return true
	}
	return t.InSyscall && pc-syscallLength > lo && pc-syscallLength < hi
}

// A World is the target with all its threads stopped. It is valid only within the function given to Stop, and on its goroutine.
type World struct {
	s       *session
	threads []*Stopped
	maps    []Mapping // of this stop, see stackMaps
	over    bool

	own       Addr // the page that calls are made from, 0 while there is none
	borrowing bool // the next call is made from a piece of a stack

	caller *tracee   // the thread that makes calls, once one was chosen
	looked bool      // for calls of earlier stops that are not complete
	late   *Deferred // a call that is not, nil if there is none
}

func (w *World) sort() {
	sort.Slice(w.threads, func(i, j int) bool { return w.threads[i].TID < w.threads[j].TID })
}

// Elapsed is for how long the target has been held.
func (w *World) Elapsed() time.Duration { return time.Since(w.s.begin) }

// Threads are all threads of the target in order of id. The list is the caller's to read only.
func (w *World) Threads() []*Stopped { return w.threads }

// ReadMem fills buf from the target's memory at addr, or fails.
func (w *World) ReadMem(addr Addr, buf []byte) error {
	if w.over {
		return ErrWorldOver
	}
	return w.s.p.gone(w.s.p.readText(addr, buf))
}

// ReadSome fills buf from the target's memory at addr as far as that is mapped, and gives the number of bytes.
func (w *World) ReadSome(addr Addr, buf []byte) int {
	if w.over {
		return 0
	}
	n, _ := w.s.p.pread(buf, addr) // what cannot be read is not mapped
	return n
}

// WriteText writes bytes anywhere, write-protected text included (the page becomes a private copy), and reads them back.
// A *WriteError names the first address that is not as it should be.
func (w *World) WriteText(addr Addr, data []byte) error {
	if w.over {
		return ErrWorldOver
	}
	p := w.s.p
	if n, err := p.pwrite(data, addr); err != nil {
		return p.gone(&WriteError{Addr: addr + Addr(n), Err: err})
	}
	got := make([]byte, len(data))
	if err := p.readText(addr, got); err != nil {
		return p.gone(&WriteError{Addr: addr, Err: err})
	}
	if bytes.Equal(got, data) {
		return nil
	}
	i := 0
	for got[i] == data[i] {
		i++
	}
	return &WriteError{Addr: addr + Addr(i), Want: data[i:], Got: got[i:]}
}

// Maps lists the mappings of the target as they are now.
func (w *World) Maps() ([]Mapping, error) {
	if w.over {
		return nil, ErrWorldOver
	}
	maps, err := w.s.p.readMaps()
	w.maps = slices.Clone(maps)
	return maps, w.s.p.gone(err)
}

// stackMaps are the mappings as they were when last asked for in this stop, without what was changed since: stacks do not move while the
// world stands still. To read them takes a millisecond in a large program.
func (w *World) stackMaps() ([]Mapping, error) {
	if w.maps == nil {
		if _, err := w.Maps(); err != nil {
			return nil, err
		}
	}
	return w.maps, nil
}

// remapped has no mapping in the range be taken for a stack.
func (w *World) remapped(addr Addr, length uint64) {
	w.maps = slices.DeleteFunc(w.maps, func(m Mapping) bool { return m.Start < addr+Addr(length) && addr < m.End })
}
