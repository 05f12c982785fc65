package x86

import (
	"encoding/binary"
	"fmt"
)

// A RelocateError says that an instruction does not do the same at another address, so that it must stay where it is.
type RelocateError struct {
	In  Inst
	Why string
}

// Error implements error.
func (e *RelocateError) Error() string {
	return fmt.Sprintf("x86: instruction at %#x cannot be moved: %s", e.In.Addr, e.Why)
}

// A RangeError says that To does not lie within 2 GiB of From: the code must be placed nearer.
type RangeError struct {
	From, To uint64 // end of the instruction that refers, and what it refers to
}

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("x86: %#x is out of reach of %#x (2 GiB): place the code nearer to it", e.To, e.From)
}

// Relocate appends to dst the instruction (its bytes are code[:in.Len]) so that it does the same at address `to`. in must come from Decode over the same bytes.
//
// The disp32 of a RIP-relative operand is computed anew; rel8 becomes rel32; jrcxz and loop become a short form over jumps.
// Calls, system calls, instructions where control stops (ud2, int3, iret) and PC-sensitive ones are a *RelocateError: their
// address is seen by someone. What cannot be reached from `to` is a *RangeError. Whether a branch leads into a window that is
// about to be overwritten is for the caller to ask: Inst.TargetsInside.
func Relocate(dst []byte, code []byte, in Inst, to uint64) ([]byte, error) {
	if again, err := Decode(code, in.Addr); err != nil || again != in {
		return nil, &RelocateError{in, "its bytes are not the ones that were decoded"}
	}
	if why := immovable(in); why != "" {
		return nil, &RelocateError{in, why}
	}
	code = code[:in.Len]
	switch {
	case in.Flow == FlowLoop:
		return relocateLoop(dst, code, in, to)
	case in.Direct():
		return relocateBranch(dst, code, in, to)
	case in.RIPOff != 0:
		return relocateRIP(dst, code, in, to)
	}
	return append(dst, code...), nil
}

// immovable says why an instruction must not be moved, "" if it may.
func immovable(in Inst) string {
	switch {
	case in.Flow == FlowCall || in.Flow == FlowCallInd:
		return "a moved call would leave a return address that no unwinder knows"
	case in.Flow == FlowSyscall:
		return "the kernel sees the address of a system call and may restart it"
	case in.Flow == FlowStop:
		return "control does not go on behind it"
	case in.PCSensitive:
		return "it depends on its own address"
	}
	return ""
}

// relocateRIP moves an instruction with a RIP-relative operand.
func relocateRIP(dst, code []byte, in Inst, to uint64) ([]byte, error) {
	disp, err := rel32(to+uint64(in.Len), in.RIPTarget)
	if err != nil {
		return nil, err
	}
	at := len(dst) + in.RIPOff
	dst = append(dst, code...)
	binary.LittleEndian.PutUint32(dst[at:], disp)
	return dst, nil
}

// relocateBranch moves jmp or jcc as the rel32 form. Its prefixes (branch hints, bnd, a REX without effect) stay.
func relocateBranch(dst, code []byte, in Inst, to uint64) ([]byte, error) {
	var b [MaxLen + 4]byte
	out := append(b[:0], code[:in.OpOff]...)
	if in.Flow == FlowJump {
		out = append(out, 0xE9)
	} else {
		if in.RelLen == 1 {
			out = append(out, 0x0F)
		}
		out = append(out, 0x80|byte(in.Opcode)&0xF)
	}
	if len(out)+4 > MaxLen {
		return nil, &RelocateError{in, "its prefixes leave no room for the long form"}
	}
	disp, err := rel32(to+uint64(len(out))+4, in.Target)
	if err != nil {
		return nil, err
	}
	return append(dst, binary.LittleEndian.AppendUint32(out, disp)...), nil
}

// relocateLoop moves jrcxz or loop: the short branch goes over a jump that is taken when it is not.
//
//	jrcxz 1f; jmp 2f; 1: jmp target; 2:
func relocateLoop(dst, code []byte, in Inst, to uint64) ([]byte, error) {
	var b [MaxLen + 7]byte
	out := append(b[:0], code[:in.RelOff]...)
	out = append(out, 2, 0xEB, 5, 0xE9)
	disp, err := rel32(to+uint64(len(out))+4, in.Target)
	if err != nil {
		return nil, err
	}
	return append(dst, binary.LittleEndian.AppendUint32(out, disp)...), nil
}

// rel32 returns the displacement from the end of an instruction to target.
func rel32(end, target uint64) (uint32, error) {
	d := int64(target - end)
	if d != int64(int32(d)) {
		return 0, &RangeError{end, target}
	}
	return uint32(d), nil
}
