package x86

// Nearly nine of ten instructions of compiled code have no prefix but REX and lie in the two oldest opcode maps. They are decoded here,
// straight from a table that is made of the same entries as the general decoder's; all others are left to that.

// A commonEntry is how an opcode without mandatory prefix is decoded. The zero entry is left to the general decoder.
type commonEntry struct {
	known bool
	modrm bool
	rel   uint8 // bytes of branch displacement
	imm   uint8 // bytes of immediate without REX.W
	wide  uint8 // and with it
	ends  bool  // more than the length has to be found out: it may branch, or be a nop
	mem   uint8 // as in entry
	reg   uint64
}

// commonTables are those of the one-byte map and the 0F map. They are not written after the start.
var commonTables = [2][256]commonEntry{commonTable(mapLegacy), commonTable(map0F)}

func commonTable(m int) (t [256]commonEntry) {
	for op := range 256 {
		e := &tables[m][op][0]
		if m == mapLegacy && (prefixOf[op] != 0 || op == 0x0F || op == 0x62 || op == 0x8F || op == 0xC4 || op == 0xC5) || m == map0F && (op == 0x38 || op == 0x3A) {
			continue
		}
		t[op] = commonOf(e, uint16(m<<8|op))
	}
	return t
}

// commonOf is the short form of an entry, if it has one.
func commonOf(e *entry, opcode uint16) (c commonEntry) {
	switch e.form {
	case formPlain:
	case formModRM:
		c.modrm, c.mem, c.reg = true, e.mem, regMasks[e.reg]
	default:
		return c
	}
	switch e.imm {
	case immNone:
	case imm8:
		c.imm, c.wide = 1, 1
	case imm16:
		c.imm, c.wide = 2, 2
	case immZ:
		c.imm, c.wide = 4, 4
	case immV:
		c.imm, c.wide = 4, 8
	case immRel8:
		c.rel = 1
	case immRelZ:
		c.rel = 4
	default:
		return c
	}
	c.known = true
	c.ends = opcode == 0x90 || opcode == 0x11F
	for modrm := range 256 {
		c.ends = c.ends || flowOf(&Inst{Opcode: opcode, ModRM: byte(modrm)}, 0) != FlowNext
	}
	return c
}

// rexPrefix is what each REX byte sets, and nothing for any other.
var rexPrefix = func() (t [256]Prefix) {
	for i := 0x40; i < 0x50; i++ {
		t[i] = rexBits(byte(i))
	}
	return t
}()

// Bits of addressForms.
const (
	addressLen = 7 // bytes of displacement
	addressSIB = 8
	addressRIP = 16
)

// addressForms says what follows a ModRM byte.
var addressForms = func() (t [256]uint8) {
	for b := range 0xC0 {
		t[b] = [3]uint8{0, 1, 4}[b>>6]
		switch {
		case b&7 == 4:
			t[b] |= addressSIB
		case b&0xC7 == 5:
			t[b] = addressRIP | 4
		}
	}
	return t
}()

// opcodeAt returns the REX prefix, 0 if there is none, the map of the opcode and where it is.
func opcodeAt(c *[MaxLen]byte) (rex byte, m, pos int) {
	if c[0]&0xF0 == 0x40 {
		rex, pos = c[0], 1
	}
	if c[pos] == 0x0F {
		return rex, map0F, pos + 1
	}
	return rex, mapLegacy, pos
}

// common decodes a common instruction into in, which is zero; false leaves the bytes to the general decoder.
func (in *Inst) common(c *[MaxLen]byte, pc uint64) bool {
	rex, m, pos := opcodeAt(c)
	op := c[pos]
	e := &commonTables[m][op]
	if !e.known {
		return false
	}
	in.Prefix = rexPrefix[rex]
	in.Addr, in.Opcode, in.OpOff = pc, uint16(m<<8)|uint16(op), pos
	pos++
	if e.modrm {
		if pos = in.commonAddress(e, c, pos); pos == 0 {
			return false
		}
	}
	switch {
	case e.rel != 0:
		in.RelOff, in.RelLen = pos, int(e.rel)
		pos += int(e.rel)
	case in.Prefix&PrefixRexW != 0:
		pos += int(e.wide)
	default:
		pos += int(e.imm)
	}
	in.Len = pos
	if e.ends || in.RIPOff != 0 {
		in.finish(c[:], 0)
	}
	return true
}

// commonAddress reads ModRM, SIB and displacement at pos and returns where they end; 0 if there is no such form.
func (in *Inst) commonAddress(e *commonEntry, c *[MaxLen]byte, pos int) int {
	in.ModRM, in.HasModRM = c[pos], true
	end, rip := e.address(c, pos)
	if rip {
		in.RIPOff = pos + 1
	}
	return end
}

// address tells where ModRM, SIB and displacement at pos end, 0 if there is no such form, and whether they are relative to RIP.
func (e *commonEntry) address(c *[MaxLen]byte, pos int) (end int, rip bool) {
	b := c[pos]
	pos++
	if b >= 0xC0 {
		if e.reg>>(b&63)&1 == 0 {
			return 0, false
		}
		return pos, false
	}
	if e.mem>>(b>>3&7)&1 == 0 {
		return 0, false
	}
	form := addressForms[b]
	if form&addressSIB != 0 {
		if b < 0x40 && c[pos]&7 == 5 {
			pos += 4
		}
		pos++
	}
	return pos + int(form&addressLen), form&addressRIP != 0
}

// Plain returns the length of the instruction at code[0] if it is a common one that goes on to the next and names no address relative to
// itself; 0 for any other, and where there are less than MaxLen bytes. Six of ten instructions of the C library are plain, and whoever looks
// for branches and references needs to know no more of them.
func Plain(code []byte) int {
	if len(code) < MaxLen {
		return 0
	}
	c := (*[MaxLen]byte)(code)
	rex, m, pos := opcodeAt(c)
	e := &commonTables[m][c[pos]]
	if !e.known || e.ends || e.rel != 0 {
		return 0
	}
	pos++
	if e.modrm {
		rip := false
		if pos, rip = e.address(c, pos); rip || pos == 0 {
			return 0
		}
	}
	if rex&8 != 0 {
		return pos + int(e.wide)
	}
	return pos + int(e.imm)
}
