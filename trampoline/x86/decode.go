package x86

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTruncated says that code ended before the instruction did: more bytes would decide.
var ErrTruncated = errors.New("x86: code ends inside an instruction")

// Unknown says that the bytes at PC are no instruction that this package knows. The point that holds them must be refused.
type Unknown struct {
	PC    uint64 // address of the first byte
	Bytes []byte // up to 15 bytes from there
	Why   string // what stopped the decoder
}

// Error implements error.
func (e *Unknown) Error() string {
	return fmt.Sprintf("x86: cannot decode % x at %#x: %s", e.Bytes, e.PC, e.Why)
}

// The values of the high byte of Inst.Opcode.
const (
	mapLegacy = 0x00
	map0F     = 0x01
	map0F38   = 0x02
	map0F3A   = 0x03
	mapVEX    = 0x10 // | 1, 2, 3
	mapEVEX   = 0x20 // | 1, 2, 3, 5, 6
	mapXOP    = 0x40 // | 8, 9, 10
)

// A decoder is the state of decoding one instruction. why is set by the first refusal.
type decoder struct {
	code []byte // at most MaxLen bytes
	cut  bool   // whether code was longer than MaxLen
	pos  int
	in   Inst
	pp   int // mandatory prefix as VEX counts it: 0 none, 1 66, 2 F3, 3 F2
	why  string
	err  error
}

// Decode decodes the instruction at code[0], which lies at address pc. Bytes behind the instruction are not looked at.
// The error is ErrTruncated or *Unknown.
func Decode(code []byte, pc uint64) (in Inst, err error) {
	if len(code) >= MaxLen && in.common((*[MaxLen]byte)(code), pc) {
		return in, nil
	}
	return decode(code, pc)
}

// decode is the general decoder, for whatever instruction.
func decode(code []byte, pc uint64) (Inst, error) {
	d := decoder{code: code}
	if len(code) >= MaxLen {
		d.code, d.cut = code[:MaxLen], true
	}
	d.in.Addr = pc
	if d.run() {
		return d.in, nil
	}
	if d.err != nil {
		return Inst{}, d.err
	}
	return Inst{}, &Unknown{PC: pc, Bytes: append([]byte(nil), d.code...), Why: d.why}
}

// run decodes everything; false means that why or err is set.
func (d *decoder) run() bool {
	if !d.prefixes() || !d.opcode() {
		return false
	}
	t := tables[d.in.Opcode>>8]
	if t == nil {
		return d.refuse("unknown opcode map")
	}
	e := &t[byte(d.in.Opcode)][d.pp]
	if e.form == formNone {
		return d.refuse("unknown opcode")
	}
	if e.form != formPlain && !d.modrm(e) {
		return false
	}
	if !d.immediate(e.imm) {
		return false
	}
	d.in.Len = d.pos
	d.in.finish(d.code, d.pp)
	return true
}

// refuse notes why the bytes are not decoded.
func (d *decoder) refuse(why string) bool {
	d.why = why
	return false
}

// next returns the next byte.
func (d *decoder) next() (byte, bool) {
	if !d.need(1) {
		return 0, false
	}
	b := d.code[d.pos]
	d.pos++
	return b, true
}

// need says whether n more bytes are there.
func (d *decoder) need(n int) bool {
	if d.pos+n <= len(d.code) {
		return true
	}
	if d.cut {
		return d.refuse("longer than 15 bytes")
	}
	d.err = ErrTruncated
	return false
}

// prefixes reads legacy prefixes and REX. A REX that another prefix follows has no effect, as on the processor.
func (d *decoder) prefixes() bool {
	for {
		if !d.need(1) {
			return false
		}
		b := d.code[d.pos]
		p := prefixOf[b]
		if p == 0 {
			break
		}
		if p == PrefixRex {
			d.in.Prefix = d.in.Prefix&^(PrefixRex|PrefixRexW|PrefixRexB) | rexBits(b)
		} else {
			d.in.Prefix = d.in.Prefix&^(PrefixRex|PrefixRexW|PrefixRexB) | p
			d.mandatory(p)
		}
		d.pos++
	}
	return true
}

// prefixOf maps a byte to the prefix that it is, 0 for an opcode.
var prefixOf = func() (t [256]Prefix) {
	t[0x66], t[0x67], t[0xF0], t[0xF2], t[0xF3] = PrefixOpSize, PrefixAddrSize, PrefixLock, PrefixRepne, PrefixRep
	t[0x64], t[0x65] = PrefixSegFS, PrefixSegGS
	t[0x26], t[0x2E], t[0x36], t[0x3E] = PrefixSegOther, PrefixSegOther, PrefixSegOther, PrefixSegOther
	for b := 0x40; b < 0x50; b++ {
		t[b] = PrefixRex
	}
	return t
}()

// rexBits returns the prefix bits of a REX byte.
func rexBits(b byte) Prefix {
	p := PrefixRex
	if b&8 != 0 {
		p |= PrefixRexW
	}
	if b&1 != 0 {
		p |= PrefixRexB
	}
	return p
}

// mandatory keeps pp: F2 and F3 go before 66, and the last of F2 and F3 counts.
func (d *decoder) mandatory(p Prefix) {
	switch {
	case p == PrefixRep:
		d.pp = 2
	case p == PrefixRepne:
		d.pp = 3
	case p == PrefixOpSize && d.pp == 0:
		d.pp = 1
	}
}

// opcode reads escapes and the opcode byte.
func (d *decoder) opcode() bool {
	b, _ := d.next() // prefixes saw that it is there
	switch b {
	case 0x0F:
		return d.escape()
	case 0xC4, 0xC5, 0x62:
		return d.vector(b)
	case 0x8F:
		if !d.need(1) {
			return false
		}
		if d.code[d.pos]&0x1F >= 8 {
			return d.vector(b)
		}
	}
	d.setOpcode(mapLegacy, b)
	d.pp = 0 // in the one-byte map no prefix selects another instruction
	return true
}

// setOpcode notes the opcode byte that was just read.
func (d *decoder) setOpcode(m int, b byte) {
	d.in.Opcode, d.in.OpOff = uint16(m)<<8|uint16(b), d.pos-1
}

// escape reads what follows 0F.
func (d *decoder) escape() bool {
	b, ok := d.next()
	if !ok {
		return false
	}
	m := map0F
	switch b {
	case 0x38, 0x3A:
		m = map0F38
		if b == 0x3A {
			m = map0F3A
		}
		if b, ok = d.next(); !ok {
			return false
		}
	case 0x0F, 0x0E:
		return d.refuse("3DNow!")
	}
	d.setOpcode(m, b)
	return true
}

// vector reads a VEX, EVEX or XOP prefix and the opcode behind it.
func (d *decoder) vector(first byte) bool {
	if d.in.Prefix&(PrefixOpSize|PrefixLock|PrefixRep|PrefixRepne|PrefixRex) != 0 {
		return d.refuse("VEX, EVEX or XOP behind a prefix that it excludes")
	}
	n := 2 // C4 and 8F
	switch first {
	case 0xC5:
		n = 1
	case 0x62:
		n = 3
	}
	if !d.need(n + 1) {
		return false
	}
	p := d.code[d.pos : d.pos+n]
	d.pos += n
	m := 0
	switch first {
	case 0xC5:
		m = mapVEX | 1
	case 0xC4:
		m = mapVEX | int(p[0]&0x1F)
		if p[0]&0x1F > 3 {
			return d.refuse("unknown VEX map")
		}
	case 0x8F:
		m = mapXOP | int(p[0]&0x1F)
	case 0x62:
		if p[0]&0x08 != 0 || p[1]&0x04 == 0 {
			return d.refuse("EVEX with bits that are reserved or APX")
		}
		m = mapEVEX | int(p[0]&0x07)
	}
	d.pp = int(p[min(n-1, 1)] & 3)
	if n > 1 && p[1]&0x80 != 0 {
		d.in.Prefix |= PrefixRexW
	}
	b, _ := d.next()
	d.setOpcode(m, b)
	return true
}

// modrm reads ModRM, SIB and displacement, and checks the form against the table.
func (d *decoder) modrm(e *entry) bool {
	b, ok := d.next()
	if !ok {
		return false
	}
	d.in.ModRM, d.in.HasModRM = b, true
	if e.form == formCtl {
		return true // mov to and from control and debug registers: mod is ignored
	}
	if b >= 0xC0 {
		if regMasks[e.reg]>>(b&63)&1 == 0 {
			return d.refuse("no such register form")
		}
		return true
	}
	if e.mem>>(b>>3&7)&1 == 0 {
		return d.refuse("no such memory form")
	}
	return d.address(b)
}

// address reads SIB and displacement of a memory operand.
func (d *decoder) address(modrm byte) bool {
	mod, rm := modrm>>6, modrm&7
	disp := [3]int{0, 1, 4}[mod]
	switch {
	case rm == 4:
		sib, ok := d.next()
		if !ok {
			return false
		}
		if mod == 0 && sib&7 == 5 {
			disp = 4
		}
	case mod == 0 && rm == 5:
		d.in.RIPOff, disp = d.pos, 4
	}
	return d.skip(disp)
}

// skip steps over n bytes of displacement or immediate.
func (d *decoder) skip(n int) bool {
	if !d.need(n) {
		return false
	}
	d.pos += n
	return true
}

// immediate reads what follows ModRM.
func (d *decoder) immediate(k immKind) bool {
	switch k {
	case immNone:
		return true
	case immRel8:
		return d.rel(1)
	case immRelZ:
		if d.in.Prefix&(PrefixOpSize|PrefixRexW) == PrefixOpSize {
			return d.refuse("66-prefixed branch: Intel and AMD disagree on its length")
		}
		return d.rel(4)
	case immTest8, immTestZ:
		if d.in.ModRM>>3&7 > 1 {
			return true
		}
	case immXbegin:
		if d.in.ModRM == 0xF8 {
			return d.immediate(immRelZ)
		}
	}
	return d.skip(d.immLen(k))
}

// immLen returns the length in bytes of a plain immediate.
func (d *decoder) immLen(k immKind) int {
	op16 := d.in.Prefix&(PrefixOpSize|PrefixRexW) == PrefixOpSize
	switch k {
	case imm8, immTest8:
		return 1
	case imm16, imm8and8:
		return 2
	case immEnter:
		return 3
	case imm32:
		return 4
	case immMoffs:
		if d.in.Prefix&PrefixAddrSize != 0 {
			return 4
		}
		return 8
	case immV:
		if d.in.Prefix&PrefixRexW != 0 {
			return 8
		}
	}
	if op16 {
		return 2
	}
	return 4
}

// rel notes a branch displacement of n bytes.
func (d *decoder) rel(n int) bool {
	d.in.RelOff, d.in.RelLen = d.pos, n
	return d.skip(n)
}

// finish fills what depends on the whole instruction: targets, flow, flags.
func (in *Inst) finish(code []byte, pp int) {
	switch in.RelLen {
	case 1:
		in.Target = in.Addr + uint64(in.Len) + uint64(int64(int8(code[in.RelOff])))
	case 4:
		in.Target = in.Addr + uint64(in.Len) + signed32(code[in.RelOff:])
	}
	if in.RIPOff != 0 {
		in.RIPTarget = in.Addr + uint64(in.Len) + signed32(code[in.RIPOff:])
		if in.Prefix&PrefixAddrSize != 0 {
			in.RIPTarget = uint64(uint32(in.RIPTarget))
			in.PCSensitive = true
		}
	}
	in.Flow = flowOf(in, pp)
	if in.Flow == FlowNext {
		in.Nop = isNop(in)
		in.Endbr = in.Opcode == 0x11E && pp == 2 && in.ModRM == 0xFA
		return
	}
	in.PCSensitive = in.PCSensitive || sensitiveBranch(in)
}

// signed32 reads a sign-extended 32-bit number.
func signed32(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// isNop says whether the instruction is 90 or 0F 1F without a meaning of its own.
func isNop(in *Inst) bool {
	if in.Prefix&PrefixLock != 0 {
		return false
	}
	return in.Opcode == 0x11F || in.Opcode == 0x90 && in.Prefix&(PrefixRep|PrefixRexB) == 0
}

// sensitiveBranch says whether a control transfer depends on where it lies beyond its displacement. With a 66 prefix
// (and no REX.W over it) AMD cuts the target to 16 bits and Intel does not.
func sensitiveBranch(in *Inst) bool {
	if in.Flow == FlowSyscall || in.Flow == FlowStop {
		return false
	}
	return in.Opcode == 0xC7 || in.Prefix&(PrefixOpSize|PrefixRexW) == PrefixOpSize ||
		in.Flow == FlowCall && in.Target == in.End()
}
