package image

import (
	"culprit/daemon/image/elffile"
	"culprit/trampoline/x86"
)

// An operand is a decoded ModRM operand: a register, or memory at base+index*scale+disp. Register numbers are those of the
// encoding (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, ...).
type operand struct {
	reg   byte // the register field, or the opcode extension
	isReg bool
	rm    byte // if isReg
	base  byte // else; noReg if there is none
	index byte
	scale byte
	disp  int32
}

// operandOf decodes the ModRM operand of a legacy-encoded instruction; ok is false for others.
func operandOf(code []byte, in *x86.Inst) (o operand, ok bool) {
	if !in.HasModRM || in.Opcode >= 0x400 || in.OpOff < 0 || in.OpOff+1 >= in.Len || len(code) < in.Len {
		return o, false
	}
	var rex byte
	if in.Prefix&x86.PrefixRex != 0 && in.OpOff > 0 {
		rex = code[in.OpOff-1]
		if in.Opcode >= 0x100 { // the map bytes stand between
			rex = 0
		}
	}
	mod, rm := in.ModRM>>6, in.ModRM&7
	o = operand{reg: in.ModRM>>3&7 | rex&4<<1, base: rm | rex&1<<3, index: noReg}
	if mod == 3 {
		o.isReg, o.rm = true, o.base
		return o, true
	}
	at := in.OpOff + 2
	if rm == 4 {
		if at >= in.Len {
			return o, false
		}
		sib := code[at]
		at++
		o.scale = 1 << (sib >> 6)
		o.base = sib&7 | rex&1<<3
		if o.index = sib>>3&7 | rex&2<<2; o.index == 4 {
			o.index = noReg
		}
		if sib&7 == 5 && mod == 0 {
			o.base, mod = noReg, 2
		}
	} else if rm == 5 && mod == 0 {
		o.base, mod = noReg, 2 // relative to the instruction pointer
	}
	switch {
	case mod == 1 && at < in.Len:
		o.disp = int32(int8(code[at]))
	case mod == 2 && at+4 <= in.Len:
		o.disp = int32(elffile.U32(code[at:]))
	}
	return o, true
}
