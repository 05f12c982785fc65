package deadlines

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Threads share places by the low bits of their numbers: of two that do, the one that cancelled a timer last is known.
const (
	places    = 1 << 16
	placeSize = 32 // number of the thread, when it cancelled its timer, and when that would have ended (ns of the monotonic clock)

	atThread, atCancelled, atEnd = 0, 8, 16
)

// ErrNamespace: the kernel numbers threads otherwise than this process sees them.
var ErrNamespace = errors.New("this process is in a pid namespace of its own: run culprit outside of it")

// keptFor is how long the kernel goes on looking behind a stop: another one is likely soon, and to begin takes a millisecond.
const keptFor = time.Second

// A Table knows when waits would have ended. Without Close the kernel keeps its program until this process ends.
type Table struct {
	program *ebpf.Program
	times   *ebpf.Map

	mu     sync.Mutex
	users  int
	link   link.Link // nil while nobody looks
	closed bool
	idle   *time.Timer

	mapMu   sync.RWMutex // what is mapped is read under it, and unmapped
	timesAt []byte
}

// Open loads the program. Errors are the kernel's: of rights (CAP_BPF and CAP_PERFMON), of kernels that do not describe their types; and
// ErrNamespace. It takes some 50 ms.
func Open() (*Table, error) {
	if err := inFirstNamespace(); err != nil {
		return nil, err
	}
	t := &Table{}
	if err := t.load(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// inFirstNamespace is nil where threads have the numbers here that programs of the kernel see.
func inFirstNamespace() error {
	const first = 0xEFFFFFFC // PROC_PID_INIT_INO of linux/proc_ns.h
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return fmt.Errorf("which pid namespace this is: %w", err)
	}
	if st.Ino != first {
		return ErrNamespace
	}
	return nil
}

func (t *Table) load() (err error) {
	t.times, err = ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_ends", Type: ebpf.Array, KeySize: 4, ValueSize: places * placeSize, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return fmt.Errorf("a map of the kernel: %w", err)
	}
	if t.timesAt, err = unix.Mmap(t.times.FD(), 0, places*placeSize, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	spec, err := cancelProgram(t.times.FD())
	if err != nil {
		return err
	}
	if t.program, err = ebpf.NewProgram(spec); err != nil {
		return fmt.Errorf("loading a program at cancelled timers: %w", err)
	}
	return nil
}

// Begin has the kernel look, until End was called as often. It says whether it does.
func (t *Table) Begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.link == nil {
		l, err := link.AttachTracing(link.TracingOptions{Program: t.program, AttachType: ebpf.AttachTraceRawTp})
		if err != nil {
			return false
		}
		t.link = l
	}
	t.users++
	return true
}

// End is called for each Begin that was answered with true.
func (t *Table) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users--
	if t.idle != nil {
		t.idle.Stop()
	}
	t.idle = time.AfterFunc(keptFor, t.rest)
}

// rest has the kernel look no more if nobody needs it.
func (t *Table) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == 0 && t.link != nil {
		t.link.Close()
		t.link = nil
	}
}

// EndOf is when the wait of a thread would have ended, on the monotonic clock, if it was broken off at since or later. The thread must stand
// still.
func (t *Table) EndOf(tid int, since time.Duration) (end time.Duration, ok bool) {
	t.mapMu.RLock()
	defer t.mapMu.RUnlock()
	if t.timesAt == nil {
		return 0, false
	}
	place := t.timesAt[tid&(places-1)*placeSize:][:placeSize]
	word := func(at int) uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&place[at]))) }
	return time.Duration(word(atEnd)), word(atThread) == uint64(tid) && time.Duration(word(atCancelled)) >= since
}

// Close ends it: from then on nothing is known.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	if t.link != nil {
		errs = append(errs, t.link.Close())
		t.link = nil
	}
	if t.program != nil {
		errs = append(errs, t.program.Close())
	}
	errs = append(errs, t.unmap())
	if t.times != nil {
		errs = append(errs, t.times.Close())
	}
	return errors.Join(errs...)
}

func (t *Table) unmap() error {
	t.mapMu.Lock()
	defer t.mapMu.Unlock()
	if t.timesAt == nil {
		return nil
	}
	b := t.timesAt
	t.timesAt = nil
	return unix.Munmap(b)
}
