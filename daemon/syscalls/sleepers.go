package syscalls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// A Sleeping is a thread that sleeps within a call, or waits for a CPU there.
type Sleeping struct {
	Regs    unix.PtraceRegs // with which it has entered the kernel; Fs_base is its thread pointer, other segments are not told
	Blocked uint64          // signals that it blocks in the call or behind it, the first in the lowest bit
	Caught  uint64          // of HoldSignals, those that its process handles
	Woken   bool            // it waits for a CPU: where the result of the call is ENOSYS it may be on its way back
	Filters bool            // a filter may answer for the kernel
}

// MayBeHeld says whether one of HoldSignals does nothing to the thread: it neither blocks nor catches it.
func (s *Sleeping) MayBeHeld() bool {
	return slices.ContainsFunc(HoldSignals, func(sig unix.Signal) bool { return (s.Blocked|s.Caught)>>(sig-1)&1 == 0 })
}

// sleepers reads with which registers threads have entered the kernel that are within a call and on no CPU: a walk over the threads of a process writes
// them down. Until a call is over the result that the kernel has noted for it is -ENOSYS, so that who is on the way back is known. Nobody is disturbed by
// it.
type sleepers struct {
	mu      sync.Mutex // one walk at a time: the memory says of which process
	program *ebpf.Program
}

// What the walk writes of a thread: its number, its thread pointer, its state, whether it has a filter, the signals that it blocks now and behind the call, what handles each of HoldSignals,
// and the kernel's struct pt_regs, which begins as unix.PtraceRegs does.
const (
	ofThread, ofThreadPointer, ofState, ofFilter, ofBlocked, ofSaved, ofHandlers = 0, 8, 16, 24, 32, 40, 48

	holdSignals   = 2
	ofRegisters   = ofHandlers + 8*holdSignals
	registersSize = 21 * 8
	recordSize    = ofRegisters + registersSize
)

// load gives the kernel the program. The number of the process is at asked in the memory.
func (s *sleepers) load(memory int, asked uint32, types *Types) error {
	kernel, err := types.cache.Kernel()
	if err != nil {
		return fmt.Errorf("the kernel's description of its types: %w", err)
	}
	at := offsets{types: kernel}
	tgid, tid, fs, running := at.of("task_struct", "tgid"), at.of("task_struct", "pid"), at.of("task_struct", "thread", "fsbase"), at.of("task_struct", "on_cpu")
	state, filter, blocked, saved := at.of("task_struct", "__state"), at.of("task_struct", "seccomp", "mode"), at.of("task_struct", "blocked"), at.of("task_struct", "saved_sigmask")
	call, result := at.of("pt_regs", "orig_ax"), at.of("pt_regs", "ax")
	if size := at.size("pt_regs"); at.err == nil && size != registersSize {
		return fmt.Errorf("the kernel's struct pt_regs takes %d bytes", size)
	}
	if at.err != nil {
		return at.err
	}
	k, err := findOffsets(kernel)
	if err != nil {
		return err
	}
	const record = -recordSize // on the program's stack
	list := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R7, asm.R1, 8, asm.DWord), // the task, none at the end of the walk
		asm.JEq.Imm(asm.R7, 0, "end"),
		asm.LoadMapValue(asm.R1, memory, asked),
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R2, asm.R7, int16(tgid), asm.Word),
		asm.JNE.Reg(asm.R1, asm.R2, "end"),
		asm.LoadMem(asm.R1, asm.R7, int16(running), asm.Word),
		asm.JNE.Imm(asm.R1, 0, "end"),
		asm.LoadMem(asm.R1, asm.R7, int16(state), asm.Word),
		asm.And.Imm(asm.R1, taskInterruptible|taskUninterruptible|taskStopped|taskTraced),
		asm.JGT.Imm(asm.R1, taskInterruptible|taskUninterruptible, "end"),
		asm.StoreMem(asm.R10, record+ofState, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(filter), asm.Word),
		asm.StoreMem(asm.R10, record+ofFilter, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(tid), asm.Word),
		asm.StoreMem(asm.R10, record+ofThread, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(fs), asm.DWord),
		asm.StoreMem(asm.R10, record+ofThreadPointer, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(blocked), asm.DWord),
		asm.StoreMem(asm.R10, record+ofBlocked, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(saved), asm.DWord),
		asm.StoreMem(asm.R10, record+ofSaved, asm.R1, asm.DWord),
	}
	for i, sig := range HoldSignals {
		list = append(list, asm.Mov.Reg(asm.R3, asm.R7))
		list = append(list, follow(asm.R3, k.handlers)...)
		list = append(list, follow(asm.R3, k.action+(int32(sig)-1)*k.actionSize)...)
		list = append(list, asm.StoreMem(asm.R10, int16(record+ofHandlers+8*i), asm.R3, asm.DWord))
	}
	s.program, err = types.load(&ebpf.ProgramSpec{Name: "culprit_sleeps", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", License: license,
		Instructions: append(list,
			asm.Mov.Reg(asm.R1, asm.R7),
			asm.FnTaskPtRegs.Call(),
			asm.Mov.Reg(asm.R3, asm.R0),
			asm.Mov.Reg(asm.R1, asm.R10),
			asm.Add.Imm(asm.R1, record+ofRegisters),
			asm.Mov.Imm(asm.R2, registersSize),
			asm.FnProbeReadKernel.Call(),
			asm.JNE.Imm(asm.R0, 0, "end"),
			asm.LoadMem(asm.R1, asm.R10, int16(record+ofRegisters+call), asm.DWord),
			asm.JSLT.Imm(asm.R1, 0, "end"),
			asm.LoadMem(asm.R1, asm.R10, int16(record+ofRegisters+result), asm.DWord),
			asm.JNE.Imm(asm.R1, -int32(unix.ENOSYS), "end"),
			asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord),
			asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord), // where output is written
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, record),
			asm.Mov.Imm(asm.R3, recordSize),
			asm.FnSeqWrite.Call(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
			asm.Return(),
		)})
	return err
}

// Parts of task_struct.__state (linux/sched.h).
const taskInterruptible, taskUninterruptible, taskStopped, taskTraced = 1, 2, 4, 8

func (s *sleepers) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program == nil {
		return nil
	}
	return s.program.Close()
}

// Sleepers are the threads of a process that are within a call now and on no CPU, by thread. One that wakes while it is looked at may be told of with registers
// that it never had: what is told twice is right, where the thread cannot have come back in between (Hold).
func (t *Transfers) Sleepers(pid int) (asleep map[int]Sleeping, err error) {
	t.sleepers.mu.Lock()
	defer t.sleepers.mu.Unlock()
	if !t.with(func(shared []byte) { word(shared, askedAt).Store(uint64(pid)) }) {
		return nil, errClosed
	}
	walk, err := walkOver(pid, t.sleepers.program)
	if err != nil {
		return nil, fmt.Errorf("a walk over tasks: %w", err)
	}
	defer walk.Close()
	out, err := walk.Open()
	if err != nil {
		return nil, fmt.Errorf("a walk over tasks: %w", err)
	}
	defer out.Close()
	return readSleepers(out)
}

// walkOver has a program walk over the threads of one process, or, before Linux 6.1, over all tasks: a thousand take about a millisecond.
func walkOver(pid int, program *ebpf.Program) (*link.Iter, error) {
	of := struct{ tid, pid, pidfd uint32 }{pid: uint32(pid)} // union bpf_iter_link_info
	attr := struct {
		program, target, kind, flags uint32
		of                           unsafe.Pointer
		ofLength                     uint32
		_                            [36]byte
	}{program: uint32(program.FD()), kind: uint32(ebpf.AttachTraceIter), of: unsafe.Pointer(&of), ofLength: uint32(unsafe.Sizeof(of))}
	fd, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_LINK_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(program)
	if e != 0 {
		return link.AttachIter(link.IterOptions{Program: program})
	}
	l, err := link.NewFromFD(int(fd))
	if err != nil {
		return nil, err
	}
	walk, ok := l.(*link.Iter)
	if !ok {
		return nil, errors.Join(errors.New("the kernel gave no walk"), l.Close())
	}
	return walk, nil
}

func readSleepers(out io.Reader) (map[int]Sleeping, error) {
	text, err := io.ReadAll(out)
	if err != nil {
		return nil, fmt.Errorf("a walk over tasks: %w", err)
	}
	asleep := make(map[int]Sleeping, len(text)/recordSize)
	for ; len(text) >= recordSize; text = text[recordSize:] {
		asleep[int(binary.LittleEndian.Uint64(text[ofThread:]))] = sleepingOf(text[:recordSize])
	}
	return asleep, nil
}

func sleepingOf(record []byte) (s Sleeping) {
	field := func(at int) uint64 { return binary.LittleEndian.Uint64(record[at:]) }
	r := &s.Regs
	for i, v := range []*uint64{&r.R15, &r.R14, &r.R13, &r.R12, &r.Rbp, &r.Rbx, &r.R11, &r.R10, &r.R9, &r.R8, &r.Rax, &r.Rcx, &r.Rdx, &r.Rsi, &r.Rdi,
		&r.Orig_rax, &r.Rip, &r.Cs, &r.Eflags, &r.Rsp, &r.Ss} {
		*v = field(ofRegisters + 8*i)
	}
	r.Fs_base = field(ofThreadPointer)
	s.Woken, s.Filters = field(ofState) == 0, field(ofFilter) != 0
	s.Blocked = field(ofBlocked) | field(ofSaved)
	for i, sig := range HoldSignals {
		if field(ofHandlers+8*i) > 1 { // SIG_DFL and SIG_IGN are 0 and 1
			s.Caught |= 1 << (sig - 1)
		}
	}
	return s
}
