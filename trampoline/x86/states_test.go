package x86

import (
	"encoding/binary"
	"math/rand"
)

// A stater makes random states for one instruction after the other.
type stater struct {
	w    *twins
	rnd  *rand.Rand
	pool []byte // random bytes, from anywhere in which memory and vector registers are filled
	regs [16]uint64
}

func newStater(w *twins, seed int64) *stater {
	s := &stater{w: w, rnd: rand.New(rand.NewSource(seed)), pool: make([]byte, 1<<20)}
	s.rnd.Read(s.pool)
	return s
}

// fill puts random bytes.
func (s *stater) fill(b []byte) { copy(b, s.pool[s.rnd.Intn(len(s.pool)-len(b)):]) }

// put gives a slot random registers, flags, vector registers and memory. The registers of a memory operand mostly point into
// the data, and what an indirect jump or a return reads is mostly an address in the original's page.
func (s *stater) put(to slot, code []byte, in Inst) {
	for i := range s.regs {
		s.regs[i] = s.word()
	}
	s.regs[RSP] = dataMid - 512 + uint64(s.rnd.Intn(128))*8
	s.fill(to.data())
	if (in.Flow == FlowRet || in.Flow == FlowJumpInd) && s.rnd.Intn(8) != 0 {
		s.land(to.data())
	}
	s.pointOperand(code, in)
	if in.Prefix&(PrefixRep|PrefixRepne) != 0 || in.Flow == FlowLoop {
		s.regs[RCX] = uint64(s.rnd.Intn(4))
	}
	for i, v := range s.regs {
		to.setReg(i, v)
	}
	flags := 0x202 | s.rnd.Uint64()&0xCD5 // CF PF AF ZF SF DF OF
	if s.rnd.Intn(64) == 0 {
		flags |= 1 << 18 // AC: what is not aligned faults
	}
	to.setFlags(flags)
	s.putExtended(to.xstate(s.w.size))
}

// word returns a register value: an address of the data, a small number or any.
func (s *stater) word() uint64 {
	switch s.rnd.Intn(4) {
	case 0:
		return uint64(s.rnd.Intn(8))
	case 1:
		return s.rnd.Uint64()
	}
	return dataMid - 1024 + uint64(s.rnd.Intn(256))*8
}

// land fills registers and memory with addresses behind the original where nothing but int3 stands.
func (s *stater) land(data []byte) {
	at := func() uint64 { return twinOrig + 512 + uint64(s.rnd.Intn(2048)) }
	for i := range s.regs {
		if i != int(RSP) {
			s.regs[i] = at()
		}
	}
	v := at()
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], v)
	}
}

// putExtended fills the x87, SSE, AVX and AVX-512 registers and their control words.
func (s *stater) putExtended(x []byte) {
	copy(x, s.w.boot)
	for st := 32; st < 160; st += 16 {
		s.fill(x[st : st+10]) // the other six bytes of an x87 register are not kept
	}
	s.fill(x[160:416])
	x[512] |= 3
	for i, p := range s.w.parts {
		if i == 2 || i >= 5 && i <= 7 { // the upper halves of ymm, masks, the rest of zmm
			s.fill(x[p[0]:][:p[1]])
			x[512] |= byte(s.w.features) & (1 << i)
		}
	}
	x[4] = [4]byte{0, 0xFF, 0xFF, byte(s.rnd.Int())}[s.rnd.Intn(4)] // which x87 registers hold something
	binary.LittleEndian.PutUint16(x[2:], uint16(s.rnd.Intn(8))<<11) // which of them is the first
	fcw, mxcsr := uint16(0x037F), uint32(0x1F80)
	fcw |= uint16(s.rnd.Intn(4)) << 10 // rounding
	mxcsr |= uint32(s.rnd.Intn(4)) << 13
	if s.rnd.Intn(8) == 0 { // some exceptions are not masked
		fcw &^= uint16(s.rnd.Intn(64))
		mxcsr &^= uint32(s.rnd.Intn(64)) << 7
	}
	binary.LittleEndian.PutUint16(x, fcw)
	binary.LittleEndian.PutUint32(x[24:], mxcsr)
}

// pointOperand gives base and index of a memory operand values that lead into the data.
func (s *stater) pointOperand(code []byte, in Inst) {
	at := in.OpOff + 1
	control := in.Opcode >= 0x120 && in.Opcode <= 0x123 // mov to cr and dr has no memory form
	if !in.HasModRM || in.ModRM >= 0xC0 || control || in.RIPOff != 0 || s.rnd.Intn(16) == 0 {
		return
	}
	mod, rm := in.ModRM>>6, int(in.ModRM&7)
	x, b := extensions(code, in)
	disp := at + 1
	base := rm | b
	if rm == 4 {
		sib := code[at+1]
		disp++
		base = int(sib&7) | b
		if index := int(sib>>3&7) | x; index != 4 {
			s.regs[index] = uint64(s.rnd.Intn(64))
		}
		if mod == 0 && sib&7 == 5 {
			return // no base: an absolute address, or one of %fs
		}
	}
	var d int64
	switch mod {
	case 1:
		d = int64(int8(code[disp]))
	case 2:
		d = int64(int32(binary.LittleEndian.Uint32(code[disp:])))
	}
	s.regs[base] = dataMid - 512 + uint64(s.rnd.Intn(16))*64 - uint64(d)
}

// extensions returns 8 where the X and B bits extend index and base.
func extensions(code []byte, in Inst) (x, b int) {
	var bits byte
	switch {
	case in.Opcode>>8&0xF0 != 0: // VEX, EVEX, XOP: inverted, behind the first byte; C5 has none
		for i, c := range code {
			if prefixOf[c] == 0 {
				if c != 0xC5 {
					bits = ^code[i+1] >> 5
				}
				break
			}
		}
	case in.Prefix&PrefixRex != 0:
		for _, c := range code {
			if c&0xF0 == 0x40 {
				bits = c
			} else if prefixOf[c] == 0 {
				break
			}
		}
	}
	return int(bits>>1&1) * 8, int(bits&1) * 8
}
