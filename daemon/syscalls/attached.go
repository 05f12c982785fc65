package syscalls

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// license is what the programs say of themselves: the kernel gives its clock and its memory only to what can be had under the GPL.
// It is said of these programs, which are ours, and of nothing else.
const license = "Dual MIT/GPL"

// ErrNamespace: the kernel numbers threads otherwise than this process sees them.
var ErrNamespace = errors.New("this process is in a pid namespace of its own: run culprit outside of it")

// An attachable is a program of the kernel that is attached to its trace point while somebody asks for it, and memory that it shares with us.
type attachable struct {
	program *ebpf.Program
	memory  *ebpf.Map
	kept    time.Duration // for which it stays attached when nobody asks any more

	mu     sync.Mutex
	users  int
	link   link.Link // nil while it is not attached
	closed bool
	idle   *time.Timer

	sharedMu sync.RWMutex // what is mapped is read under it, and unmapped
	shared   []byte
}

// open makes the memory, of a number of bytes, and loads the program that is made for its descriptor.
func (a *attachable) open(name string, size int, protection int, program func(types *btf.Spec, memory int) (*ebpf.ProgramSpec, error), types *Types) (err error) {
	if err := inFirstNamespace(); err != nil {
		return err
	}
	a.memory, err = ebpf.NewMap(&ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return fmt.Errorf("a map of the kernel: %w", err)
	}
	if a.shared, err = unix.Mmap(a.memory.FD(), 0, size, protection, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	kernel, err := types.cache.Kernel()
	if err != nil {
		return fmt.Errorf("the kernel's description of its types: %w", err)
	}
	spec, err := program(kernel, a.memory.FD())
	if err != nil {
		return err
	}
	a.program, err = types.load(spec)
	return err
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

// attach has the kernel run the program, until detach was called as often. It says whether it does.
func (a *attachable) attach() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if a.link == nil {
		l, err := link.AttachTracing(link.TracingOptions{Program: a.program, AttachType: ebpf.AttachTraceRawTp})
		if err != nil {
			return false
		}
		a.link = l
	}
	a.users++
	return true
}

// detach is called for each attach that was answered with true.
func (a *attachable) detach() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users--
	if a.idle != nil {
		a.idle.Stop()
	}
	a.idle = time.AfterFunc(a.kept, a.rest)
}

// rest detaches the program if nobody asks for it.
func (a *attachable) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users == 0 && a.link != nil {
		a.link.Close()
		a.link = nil
	}
}

// with gives the shared memory to f, unless it is gone, and says whether it did.
func (a *attachable) with(f func(shared []byte)) bool {
	a.sharedMu.RLock()
	defer a.sharedMu.RUnlock()
	if a.shared == nil {
		return false
	}
	f(a.shared)
	return true
}

// word is eight bytes of the shared memory.
func word(shared []byte, at int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&shared[at])) }

// Close ends it: from then on nothing is known.
func (a *attachable) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	var errs []error
	if a.link != nil {
		errs = append(errs, a.link.Close())
		a.link = nil
	}
	if a.program != nil {
		errs = append(errs, a.program.Close())
	}
	errs = append(errs, a.unmap())
	if a.memory != nil {
		errs = append(errs, a.memory.Close())
	}
	return errors.Join(errs...)
}

func (a *attachable) unmap() error {
	a.sharedMu.Lock()
	defer a.sharedMu.Unlock()
	if a.shared == nil {
		return nil
	}
	b := a.shared
	a.shared = nil
	return unix.Munmap(b)
}
