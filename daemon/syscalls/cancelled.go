package syscalls

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// cancelProgram is the program at the trace point of cancelled timers: where the timer is what the thread itself waits with, the thread, the
// time and the end of the timer are written to its place.
//
// Such a timer is the first member of a struct hrtimer_sleeper, which names the thread. What lies behind any other timer is not its thread.
func cancelProgram(types *btf.Spec, times int) (*ebpf.ProgramSpec, error) {
	at := offsets{types: types}
	expires, task := at.of("hrtimer_sleeper", "timer", "node", "expires"), at.of("hrtimer_sleeper", "task")
	if at.err != nil {
		return nil, at.err
	}
	const atTask = -8 // on the program's stack
	list := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // the timer
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, atTask),
		asm.Mov.Imm(asm.R2, 8),
		asm.Mov.Reg(asm.R3, asm.R6),
		asm.Add.Imm(asm.R3, task),
		asm.FnProbeReadKernel.Call(),
		asm.JNE.Imm(asm.R0, 0, "end"),
		asm.FnGetCurrentTask.Call(),
		asm.LoadMem(asm.R1, asm.R10, atTask, asm.DWord),
		asm.JNE.Reg(asm.R0, asm.R1, "end"),
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.FnGetCurrentPidTgid.Call(),
		asm.Mov.Reg32(asm.R1, asm.R0), // the thread
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.And.Imm(asm.R2, places-1),
		asm.Mul.Imm(asm.R2, placeSize),
		asm.LoadMapValue(asm.R3, times, 0),
		asm.Add.Reg(asm.R3, asm.R2),
		asm.LoadMem(asm.R2, asm.R6, int16(expires), asm.DWord),
		asm.StoreMem(asm.R3, atEnd, asm.R2, asm.DWord),
		asm.StoreMem(asm.R3, atCancelled, asm.R7, asm.DWord),
		asm.StoreMem(asm.R3, atThread, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	}
	return &ebpf.ProgramSpec{Name: "culprit_ends", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "hrtimer_cancel", Instructions: list, License: license}, nil
}
