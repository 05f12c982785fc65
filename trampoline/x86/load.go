package x86

import (
	"encoding/binary"
	"fmt"
)

// LoadOperand emits a load into rax of the 64-bit operand of another instruction, in (code begins with its bytes): the register or
// memory that its ModRM byte names. down is by how much the stack pointer is lower here than it was there; every other register
// holds here what it held there. It fails for addresses of 32 bits.
func (a *Asm) LoadOperand(in *Inst, code []byte, down int32) error {
	if !in.HasModRM || in.Prefix&PrefixAddrSize != 0 || in.Opcode > 0xFF || in.Len > len(code) {
		return fmt.Errorf("x86: the operand of the instruction at %#x cannot be loaded", in.Addr)
	}
	var rex byte
	if in.Prefix&PrefixRex != 0 {
		rex = code[in.OpOff-1]
	}
	mod, rm := in.ModRM>>6, in.ModRM&7
	if in.RIPOff != 0 {
		a.Raw(0x48, 0x8B, 0x05)
		a.refAddr(in.RIPTarget)
		return nil
	}
	reg := Reg(rm | rex&1<<3)
	if mod == 3 {
		if reg == RSP {
			a.Lea(RAX, RSP, down)
		} else {
			a.MovRR(RAX, reg)
		}
		return nil
	}
	a.segment(in)
	tail := code[in.OpOff+2 : in.Len]
	if rm != 4 || tail[0]&7 != 4 || rex&1 != 0 || tail[0]&7 == 5 && mod == 0 {
		a.Raw(0x48|rex&3, 0x8B, in.ModRM&^0x38)
		a.Raw(tail...)
		return nil
	}
	// The base is the stack pointer.
	var disp int32
	switch mod {
	case 1:
		disp = int32(int8(tail[1]))
	case 2:
		disp = int32(binary.LittleEndian.Uint32(tail[1:]))
	}
	a.Raw(0x48|rex&3, 0x8B, 0x84, tail[0])
	a.imm32(uint32(disp + down))
	return nil
}

// segment emits the segment prefix that an instruction has.
func (a *Asm) segment(in *Inst) {
	switch {
	case in.Prefix&PrefixSegFS != 0:
		a.Raw(0x64)
	case in.Prefix&PrefixSegGS != 0:
		a.Raw(0x65)
	}
}
