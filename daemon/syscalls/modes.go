package syscalls

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// A Mode is what some thread of a process has asked of the kernel that code which is put into it does not survive.
type Mode struct {
	NoTSC      bool // reading the time-stamp counter is a fault for it (prctl(2), PR_SET_TSC)
	Dispatched bool // system calls are a signal for it (PR_SET_SYSCALL_USER_DISPATCH)
	Keyless    bool // its thread pointer is 0 (arch_prctl(2), ARCH_SET_FS), and it has not begun to end: the kernel forgets the pointer then
}

// Modes asks the kernel for the modes of threads, which it tells nobody else: by a walk over the threads of one process. Nobody is stopped.
// Without Close the kernel keeps its program until this process ends.
type Modes struct {
	program    *ebpf.Program
	noTSC      uint64 // the bit of thread_info.flags
	dispatched uint64 // the bit of thread_info.syscall_work
}

// OpenModes loads the program. It needs Linux 6.1, and the rights of all programs of eBPF that read the kernel.
func OpenModes(types *Types) (*Modes, error) {
	kernel, err := types.cache.Kernel()
	if err != nil {
		return nil, fmt.Errorf("the kernel's description of its types: %w", err)
	}
	m := &Modes{dispatched: dispatchBit(kernel)}
	spec, err := modeProgram(kernel)
	if err != nil {
		return nil, err
	}
	if m.program, err = types.load(spec); err != nil {
		return nil, err
	}
	if err := m.findTSC(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Close ends it. No other method may be called afterwards.
func (m *Modes) Close() error { return m.program.Close() }

// Of is what threads of a process have asked for; os.ErrProcessDone if it has none any more. It takes less than 100 us, and a little for each thread.
func (m *Modes) Of(pid int) (mode Mode, err error) {
	it, err := m.walk(walked{pid: uint32(pid)})
	if err != nil {
		return mode, err
	}
	defer it.Close()
	all, err := io.ReadAll(it)
	if err == nil && len(all) < modeSize {
		err = os.ErrProcessDone
	}
	for ; len(all) >= modeSize; all = all[modeSize:] {
		words := (*[modeWords]uint64)(unsafe.Pointer(&all[0]))
		mode.NoTSC = mode.NoTSC || words[0]&m.noTSC != 0
		mode.Dispatched = mode.Dispatched || words[1]&m.dispatched != 0
		mode.Keyless = mode.Keyless || words[2] == 0 && words[3]&exiting == 0
	}
	return mode, err
}

// dispatchBit is 0 where the kernel has no dispatching (before Linux 5.11).
func dispatchBit(kernel *btf.Spec) uint64 {
	var bits *btf.Enum
	if kernel.TypeByName("syscall_work_bit", &bits) == nil {
		for _, v := range bits.Values {
			if v.Name == "SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH" {
				return 1 << v.Value
			}
		}
	}
	return 0
}

// modeSize is what the program writes of a thread: thread_info.flags, thread_info.syscall_work, thread.fsbase, flags.
const modeSize, modeWords = 8 * modeWords, 4

const exiting = 4 // PF_EXITING of linux/sched.h

// modeProgram is the program that sees each thread: [R1] is how output is written, behind it the thread, none at the end.
func modeProgram(kernel *btf.Spec) (*ebpf.ProgramSpec, error) {
	at := offsets{types: kernel}
	flags, work := at.of("task_struct", "thread_info", "flags"), at.of("task_struct", "thread_info", "syscall_work")
	fs, life := at.of("task_struct", "thread", "fsbase"), at.of("task_struct", "flags")
	if at.err != nil {
		return nil, at.err
	}
	list := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 8, asm.DWord),
		asm.JEq.Imm(asm.R2, 0, "end"),
		asm.LoadMem(asm.R3, asm.R2, int16(flags), asm.DWord),
		asm.StoreMem(asm.R10, -modeSize, asm.R3, asm.DWord),
		asm.LoadMem(asm.R3, asm.R2, int16(work), asm.DWord),
		asm.StoreMem(asm.R10, 8-modeSize, asm.R3, asm.DWord),
		asm.LoadMem(asm.R3, asm.R2, int16(fs), asm.DWord),
		asm.StoreMem(asm.R10, 16-modeSize, asm.R3, asm.DWord),
		asm.LoadMem(asm.R3, asm.R2, int16(life), asm.Word),
		asm.StoreMem(asm.R10, 24-modeSize, asm.R3, asm.DWord),
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -modeSize),
		asm.Mov.Imm(asm.R3, modeSize),
		asm.FnSeqWrite.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	}
	return &ebpf.ProgramSpec{Name: "culprit_modes", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", Instructions: list, License: license}, nil
}

// walked says which threads a walk sees, by numbers of this process's pid namespace (union bpf_iter_link_info, task, of linux/bpf.h).
type walked struct{ tid, pid, pidfd uint32 }

// walk begins a walk. The library that loads programs has none over single processes.
func (m *Modes) walk(of walked) (*os.File, error) {
	link := struct {
		program, target, kind, flags uint32
		info                         unsafe.Pointer
		length, _                    uint32
	}{program: uint32(m.program.FD()), kind: uint32(ebpf.AttachTraceIter), info: unsafe.Pointer(&of), length: uint32(unsafe.Sizeof(of))}
	fd, err := bpf(unix.BPF_LINK_CREATE, unsafe.Pointer(&link), unsafe.Sizeof(link))
	runtime.KeepAlive(&of)
	if err != nil {
		return nil, fmt.Errorf("a walk over threads: %w", err)
	}
	defer unix.Close(fd)
	walk := struct{ link, flags uint32 }{link: uint32(fd)}
	if fd, err = bpf(unix.BPF_ITER_CREATE, unsafe.Pointer(&walk), unsafe.Sizeof(walk)); err != nil {
		return nil, fmt.Errorf("a walk over threads: %w", err)
	}
	return os.NewFile(uintptr(fd), "threads"), nil
}

func bpf(command uintptr, attr unsafe.Pointer, size uintptr) (fd int, err error) {
	n, _, e := unix.Syscall(unix.SYS_BPF, command, uintptr(attr), size)
	if e != 0 {
		return -1, os.NewSyscallError("bpf", e)
	}
	return int(n), nil
}

// tries is how often findTSC compares: the kernel changes other bits of a thread whenever it likes.
const tries = 8

var errNoBit = errors.New("which bit of a thread says that it may not read the time-stamp counter is not known")

// findTSC finds out which bit it is, which differs from kernel to kernel and is described nowhere: by a thread of ours that forbids it itself
// for some microseconds.
func (m *Modes) findTSC() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var walks [2 * tries]*os.File
	var fds [2 * tries]uintptr
	for i := range walks {
		it, err := m.walk(walked{tid: uint32(unix.Gettid())})
		if err != nil {
			return err
		}
		defer it.Close()
		walks[i], fds[i] = it, it.Fd()
	}
	var seen [2 * tries][modeWords]uint64
	if e := toggleTSC(&fds, &seen); e != 0 {
		return os.NewSyscallError("prctl", e)
	}
	bits := ^uint64(0)
	for i := 0; i < len(seen); i += 2 {
		bits &= seen[i][0] &^ seen[i+1][0]
	}
	if bits == 0 || bits&(bits-1) != 0 {
		return errNoBit
	}
	m.noTSC = bits
	return nil
}

const (
	prSetTSC             = 26 // linux/prctl.h
	tscEnable, tscRefuse = 1, 2
)

// toggleTSC forbids this thread to read the counter, reads what the kernel says of it then, permits it, reads again; and so on. In between the
// thread must not come to the runtime, which reads clocks: there are no signals, and nothing is called that looks for room on the stack.
//
//go:nosplit
func toggleTSC(fds *[2 * tries]uintptr, seen *[2 * tries][modeWords]uint64) (failed unix.Errno) {
	all, before := ^uint64(0), uint64(0)
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&before)), 8, 0, 0); e != 0 {
		return e
	}
	for i := 0; i < 2*tries && failed == 0; i += 2 {
		_, _, failed = unix.RawSyscall6(unix.SYS_PRCTL, prSetTSC, tscRefuse, 0, 0, 0, 0)
		_, _, _ = unix.RawSyscall(unix.SYS_READ, fds[i], uintptr(unsafe.Pointer(&seen[i])), modeSize)
		_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, prSetTSC, tscEnable, 0, 0, 0, 0)
		_, _, _ = unix.RawSyscall(unix.SYS_READ, fds[i+1], uintptr(unsafe.Pointer(&seen[i+1])), modeSize)
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0)
	return failed
}
