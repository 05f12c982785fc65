package deadlines

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// license is what the program says of itself: the kernel gives its clock and its memory only to what can be had under the GPL.
// It is said of this one program, which is ours, and of nothing else.
const license = "Dual MIT/GPL"

// cancelProgram is the program at the trace point of cancelled timers: where the timer is what the thread itself waits with, the thread, the
// time and the end of the timer are written to its place.
//
// Such a timer is the first member of a struct hrtimer_sleeper, which names the thread. What lies behind any other timer is not its thread.
func cancelProgram(times int) (*ebpf.ProgramSpec, error) {
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("the kernel's description of its types: %w", err)
	}
	var sleeper *btf.Struct
	if err := types.TypeByName("hrtimer_sleeper", &sleeper); err != nil {
		return nil, err
	}
	expires, err := offsetOf(sleeper, "timer", "node", "expires")
	if err != nil {
		return nil, err
	}
	task, err := offsetOf(sleeper, "task")
	if err != nil {
		return nil, err
	}
	const atTask = -8 // on the program's stack
	list := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // the timer
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, atTask),
		asm.Mov.Imm(asm.R2, 8),
		asm.Mov.Reg(asm.R3, asm.R6),
		asm.Add.Imm(asm.R3, int32(task)),
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

// offsetOf is where a member of members lies, in bytes.
func offsetOf(in *btf.Struct, path ...string) (int, error) {
	at, of := 0, in
	for _, name := range path {
		member := memberOf(of, name)
		if member == nil {
			return 0, fmt.Errorf("the kernel's struct %s has no member %s", of.Name, name)
		}
		at += int(member.Offset.Bytes())
		of, _ = btf.UnderlyingType(member.Type).(*btf.Struct)
		if of == nil {
			of = &btf.Struct{Name: name}
		}
	}
	return at, nil
}

func memberOf(of *btf.Struct, name string) *btf.Member {
	for i := range of.Members {
		if of.Members[i].Name == name {
			return &of.Members[i]
		}
	}
	return nil
}
