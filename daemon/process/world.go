package process

import (
	"sort"
	"time"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
)

// A World is the target with all its threads stopped. It is valid only within the function given to Stop, and on its goroutine.
type World struct {
	s       *session
	threads []*raw.Stopped
	calls   *remote.Caller
	over    bool
}

func (w *World) sort() {
	sort.Slice(w.threads, func(i, j int) bool { return w.threads[i].TID < w.threads[j].TID })
}

// Elapsed is for how long the target has been held.
func (w *World) Elapsed() time.Duration { return time.Since(w.s.begin) }

// Threads are all threads of the target in order of id. The list is the caller's to read only.
func (w *World) Threads() []*raw.Stopped { return w.threads }

// ReadMem fills buf from the target's memory at addr, or fails.
func (w *World) ReadMem(addr raw.Addr, buf []byte) error {
	if w.over {
		return ErrWorldOver
	}
	return w.s.p.gone(w.s.p.mem.Read(addr, buf))
}

// ReadSome fills buf from the target's memory at addr as far as that is mapped, and gives the number of bytes.
func (w *World) ReadSome(addr raw.Addr, buf []byte) int {
	if w.over {
		return 0
	}
	n, _ := w.s.p.mem.Pread(buf, addr) // what cannot be read is not mapped
	return n
}

// WriteText writes bytes anywhere, write-protected text included (the page becomes a private copy), and reads them back.
// A *WriteError names the first address that is not as it should be.
func (w *World) WriteText(addr raw.Addr, data []byte) error {
	if w.over {
		return ErrWorldOver
	}
	return w.s.p.gone(w.s.p.mem.WriteText(data, addr))
}

// SharedOf lists those of the addresses at which others see what is written: a file, and all who map it. It need not be asked in a stop.
func (p *Process) SharedOf(addrs []raw.Addr) ([]raw.Addr, error) {
	shared, err := raw.SharedOf(p.pid, addrs)
	return shared, p.gone(err)
}

// Maps lists the mappings of the target as they are now.
func (w *World) Maps() ([]raw.Mapping, error) {
	if w.over {
		return nil, ErrWorldOver
	}
	return w.calls.Maps()
}

// MappingsAt are the mappings that the addresses lie in, in the order of these; the zero Mapping stands for none. It takes less time than Maps.
func (w *World) MappingsAt(addrs []raw.Addr) ([]raw.Mapping, error) {
	if w.over {
		return nil, ErrWorldOver
	}
	return w.calls.MappingsAt(addrs)
}

// CodeMaps are the mappings in which code may run, in order of address. It takes less time than Maps.
func (w *World) CodeMaps() ([]raw.Mapping, error) {
	if w.over {
		return nil, ErrWorldOver
	}
	return w.calls.CodeMaps()
}

// Knew has the World use all mappings, as they were read before the stop, to find stacks in: what threads stand on is compared.
func (w *World) Knew(maps []raw.Mapping) { w.calls.Knew(maps) }

// ReadPieces fills as many of the pieces as can be read.
func (w *World) ReadPieces(pieces []raw.Piece) error {
	if w.over {
		return ErrWorldOver
	}
	w.s.p.mem.ReadPieces(pieces)
	return nil
}

// Syscall makes a system call in the target and gives its result. A failure of the call itself is a unix.Errno. At most six arguments.
// Other errors: *Unsupported (seccomp without CAP_SYS_ADMIN, shadow stacks, no place to stand), ErrTargetExited.
func (w *World) Syscall(nr uint64, args ...uint64) (uint64, error) {
	return w.calls.Syscall(nr, args...)
}

// Mmap maps memory in the target as mmap(2) does. With MAP_FIXED_NOREPLACE an address that is taken gives unix.EEXIST, also on kernels
// before 4.17 which only take it for a hint.
func (w *World) Mmap(addr raw.Addr, length uint64, prot, flags, fd int, off uint64) (raw.Addr, error) {
	return w.calls.Mmap(addr, length, prot, flags, fd, off)
}

// Munmap unmaps memory of the target.
func (w *World) Munmap(addr raw.Addr, length uint64) error { return w.calls.Munmap(addr, length) }

// CloseFD closes a descriptor of the target.
func (w *World) CloseFD(fd int) error { return w.calls.CloseFD(fd) }

// PassFDs gives the target descriptors of what fds are here: see remote.Caller.PassFDs.
func (w *World) PassFDs(fds []int, opened func(got ...int) error) (got []int, err error) {
	return w.calls.PassFDs(fds, opened)
}

// ForgetPairs has all pages of ours that were left behind say that there are no sockets, when those are closed.
func (w *World) ForgetPairs() error { return w.calls.ForgetPairs() }

// Tidy removes what killed tracers have left and no thread stands on.
func (w *World) Tidy() error { return w.calls.Tidy() }

// Pending is an error while some thread has yet to complete a call that it was sent to make in an earlier stop: a *Deferred.
func (w *World) Pending() error { return w.calls.Pending() }

// Sequences are the restartable sequences that threads are in, or were in last.
func (w *World) Sequences() (seen []remote.Sequence) { return w.calls.Sequences() }
