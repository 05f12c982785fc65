package x86

import "fmt"

// extend is the opcode in the 0F map that extends a byte (B6, BE) or a word (B7, BF).
func extend(size int, signed bool) byte {
	op := byte(0xB6)
	if size == 2 {
		op |= 1
	}
	if signed {
		op |= 8
	}
	return op
}

// MovSizedRM emits dst = the size bytes at [base+disp], sign- or zero-extended to 64 bits; size is 1, 2, 4 or 8.
func (a *Asm) MovSizedRM(dst, base Reg, disp int32, size int, signed bool) {
	switch {
	case size == 8:
		a.MovRM(dst, base, disp)
	case size == 4 && signed:
		a.rm(0x63, dst, base, disp) // movslq
	case size == 4:
		if rex := rexRB(dst, base); rex != 0 {
			a.Raw(0x40 | rex)
		}
		a.Raw(0x8B)
		a.mem(dst, base, disp)
	case size == 1 || size == 2:
		a.rm0F(extend(size, signed), dst, base, disp)
	default:
		a.fail(fmt.Errorf("x86: no load of %d bytes: 1, 2, 4 and 8 are possible", size))
	}
}

// MovSizedRR emits dst = the low size bytes of src, sign- or zero-extended to 64 bits; size is 1, 2, 4 or 8.
func (a *Asm) MovSizedRR(dst, src Reg, size int, signed bool) {
	switch {
	case size == 8:
		a.MovRR(dst, src)
	case size == 4 && signed:
		a.rr(0x63, dst, src) // movslq
	case size == 4:
		if rex := rexRB(src, dst); rex != 0 {
			a.Raw(0x40 | rex)
		}
		a.Raw(0x89, 0xC0|byte(src&7)<<3|byte(dst&7))
	case size == 1 || size == 2:
		a.Raw(0x48|rexRB(dst, src), 0x0F, extend(size, signed), 0xC0|byte(dst&7)<<3|byte(src&7))
	default:
		a.fail(fmt.Errorf("x86: no value of %d bytes: 1, 2, 4 and 8 are possible", size))
	}
}
