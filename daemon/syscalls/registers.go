package syscalls

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// registers reads with which registers threads have entered the kernel that are within a call, and on no CPU: a walk over all tasks writes down
// those of one process. Where a thread left its CPU it had either entered the kernel by a call, or was interrupted in the program, and the kernel
// notes which. Nobody is disturbed by it.
type registers struct {
	mu      sync.Mutex // one walk at a time: the memory says of which process
	program *ebpf.Program
}

// What the walk writes of a thread: its number, its thread pointer, and the kernel's struct pt_regs, which begins as unix.PtraceRegs does.
const (
	ofThread, ofThreadPointer, ofRegisters = 0, 8, 16

	registersSize = 21 * 8
	recordSize    = ofRegisters + registersSize
)

// load gives the kernel the program. The number of the process is at asked in the memory.
func (r *registers) load(memory int, asked uint32, types *Types) error {
	kernel, err := types.cache.Kernel()
	if err != nil {
		return fmt.Errorf("the kernel's description of its types: %w", err)
	}
	at := offsets{types: kernel}
	tgid, tid, fs, running := at.of("task_struct", "tgid"), at.of("task_struct", "pid"), at.of("task_struct", "thread", "fsbase"), at.of("task_struct", "on_cpu")
	call := at.of("pt_regs", "orig_ax")
	if size := at.size("pt_regs"); at.err == nil && size != registersSize {
		return fmt.Errorf("the kernel's struct pt_regs takes %d bytes", size)
	}
	if at.err != nil {
		return at.err
	}
	const record = -recordSize // on the program's stack
	r.program, err = types.load(&ebpf.ProgramSpec{Name: "culprit_regs", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", License: license,
		Instructions: asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.LoadMem(asm.R7, asm.R1, 8, asm.DWord), // the task, none at the end of the walk
			asm.JEq.Imm(asm.R7, 0, "end"),
			asm.LoadMapValue(asm.R1, memory, asked),
			asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
			asm.LoadMem(asm.R2, asm.R7, int16(tgid), asm.Word),
			asm.JNE.Reg(asm.R1, asm.R2, "end"),
			asm.LoadMem(asm.R1, asm.R7, int16(running), asm.Word),
			asm.JNE.Imm(asm.R1, 0, "end"),
			asm.LoadMem(asm.R1, asm.R7, int16(tid), asm.Word),
			asm.StoreMem(asm.R10, record+ofThread, asm.R1, asm.DWord),
			asm.LoadMem(asm.R1, asm.R7, int16(fs), asm.DWord),
			asm.StoreMem(asm.R10, record+ofThreadPointer, asm.R1, asm.DWord),
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
			asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord),
			asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord), // where output is written
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, record),
			asm.Mov.Imm(asm.R3, recordSize),
			asm.FnSeqWrite.Call(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
			asm.Return(),
		}})
	return err
}

func (r *registers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.program == nil {
		return nil
	}
	return r.program.Close()
}

// Registers are those with which threads of a process have entered the kernel that are within a call now and on no CPU, by thread. One that
// gets a CPU while it is looked at may be told of with registers that it never had: what is told twice is right, where the thread cannot have
// come back in between (Hold). A walk over a thousand tasks takes about a millisecond.
func (t *Transfers) Registers(pid int) (regs map[int]unix.PtraceRegs, err error) {
	t.registers.mu.Lock()
	defer t.registers.mu.Unlock()
	if !t.with(func(shared []byte) { word(shared, askedAt).Store(uint64(pid)) }) {
		return nil, errClosed
	}
	walk, err := link.AttachIter(link.IterOptions{Program: t.registers.program})
	if err != nil {
		return nil, fmt.Errorf("a walk over tasks: %w", err)
	}
	defer walk.Close()
	out, err := walk.Open()
	if err != nil {
		return nil, fmt.Errorf("a walk over tasks: %w", err)
	}
	defer out.Close()
	return readRegisters(out)
}

func readRegisters(out io.Reader) (map[int]unix.PtraceRegs, error) {
	text, err := io.ReadAll(out)
	if err != nil {
		return nil, fmt.Errorf("a walk over tasks: %w", err)
	}
	regs := map[int]unix.PtraceRegs{}
	for ; len(text) >= recordSize; text = text[recordSize:] {
		regs[int(binary.LittleEndian.Uint64(text[ofThread:]))] = registersOf(text[:recordSize])
	}
	return regs, nil
}

func registersOf(record []byte) (r unix.PtraceRegs) {
	for i, v := range []*uint64{&r.R15, &r.R14, &r.R13, &r.R12, &r.Rbp, &r.Rbx, &r.R11, &r.R10, &r.R9, &r.R8, &r.Rax, &r.Rcx, &r.Rdx, &r.Rsi, &r.Rdi,
		&r.Orig_rax, &r.Rip, &r.Cs, &r.Eflags, &r.Rsp, &r.Ss} {
		*v = binary.LittleEndian.Uint64(record[ofRegisters+8*i:])
	}
	r.Fs_base = binary.LittleEndian.Uint64(record[ofThreadPointer:])
	return r
}
