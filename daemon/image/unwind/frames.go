package unwind

import (
	"sort"
	"strings"
	"sync/atomic"

	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
)

// A cie holds what many frame descriptions share.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // DWARF number of the return address column
	ptrEnc    byte
	lsdaEnc   byte
	sized     bool // augmentation data has a length ('z')
	signal    bool // 'S': the frame of a signal handler's caller
	init      []byte
}

// An FDE describes the frames of code in [lo, hi).
type FDE struct {
	Lo, Hi   uint64
	cie      *cie
	prog     []byte
	lsda     uint64 // address of the language-specific data, 0 if there is none
	lsdaLost bool   // there is some, but its address cannot be known from the file
}

// Signal reports whether the frames are those of callers of signal handlers.
func (f *FDE) Signal() bool { return f.cie.signal }

// HasPads reports whether exceptions may continue in the code.
func (f *FDE) HasPads() bool { return f.lsda != 0 }

// Entry says of the first instruction: whether the stack is as a caller left it, and whether there is no caller.
func (f *FDE) Entry() (plain, outermost bool, err error) {
	w, err := f.rowAt(f.Lo)
	if err != nil {
		return false, false, err
	}
	return w.plain(), w.regs[f.cie.ra].kind == ruleUndefined, nil
}

// Plain reports whether the stack at addr is as the caller of the function left it, so that a jump from there is a tail call.
func (f *FDE) Plain(addr uint64) bool {
	w, err := f.rowAt(addr)
	return err == nil && w.plain()
}

// FrameRegister is DWARF's number of the register from which the frame at addr is found; ok is false where it is found otherwise.
func (f *FDE) FrameRegister(addr uint64) (reg uint64, ok bool) {
	w, err := f.rowAt(addr)
	if err != nil || w.cfaExpr != nil {
		return 0, false
	}
	return w.cfaReg, true
}

// frameIndex holds frame descriptions sorted by lo.
type frameIndex struct{ fdes []FDE }

// find gives the description that covers pc, nil if there is none.
func (x *frameIndex) find(pc uint64) *FDE {
	if x == nil {
		return nil
	}
	i := sort.Search(len(x.fdes), func(i int) bool { return x.fdes[i].Lo > pc }) - 1
	if i < 0 || pc >= x.fdes[i].Hi {
		return nil
	}
	return &x.fdes[i]
}

// A Table is the call frame information of one file.
type Table struct {
	file     *elffile.File
	frames   lazy.Value[*frameIndex] // .eh_frame
	debug    lazy.Value[*frameIndex] // .debug_frame
	rows     rowsKept
	padsRead atomic.Int64 // landing pads of all functions, as often as they were read
}

// New is the call frame information of a file. It is read when it is first asked for.
func New(file *elffile.File) *Table { return &Table{file: file} }

// Prepare reads what Unwind needs, so that it answers at once.
func (t *Table) Prepare() {
	t.ehFrames()
	t.debugFrames()
}

// Described lists the frame descriptions of .eh_frame by Lo. The caller must not change them.
func (t *Table) Described() []FDE {
	if x := t.ehFrames(); x != nil {
		return x.fdes
	}
	return nil
}

// DescribedAt gives the frame description of .eh_frame that covers pc, nil if there is none.
func (t *Table) DescribedAt(pc uint64) *FDE { return t.ehFrames().find(pc) }

// ehFrames is the index of .eh_frame; empty if there is none.
func (t *Table) ehFrames() *frameIndex {
	x, _ := t.frames.Get(t.file.Name(), func() (*frameIndex, error) {
		s := t.file.Section(".eh_frame")
		if s == nil {
			s = t.ehFrameOfSegments()
		}
		if s == nil {
			return &frameIndex{}, nil
		}
		return parseFrames(s.Bytes(), s.Addr, true), nil
	})
	return x
}

// debugFrames is the index of .debug_frame (Go, and C built without unwind tables), of the separate debug file if need be.
func (t *Table) debugFrames() *frameIndex {
	x, _ := t.debug.Get(t.file.Name(), func() (*frameIndex, error) {
		b := t.file.DebugSection(".debug_frame")
		if b == nil {
			if d := t.file.DebugFile(); d != nil {
				b = d.DebugSection(".debug_frame")
			}
		}
		return parseFrames(b, 0, false), nil
	})
	return x
}

// At finds the frame description of pc.
func (t *Table) At(pc uint64) *FDE {
	if f := t.ehFrames().find(pc); f != nil {
		return f
	}
	return t.debugFrames().find(pc)
}

// ehFrameOfSegments finds .eh_frame through PT_GNU_EH_FRAME in a file without section headers. Its header is: version 1,
// three encodings, then the pointer to .eh_frame (LSB Core, "The .eh_frame_hdr section").
func (t *Table) ehFrameOfSegments() *elffile.Section {
	header, size, ok := t.file.FrameHeader()
	if !ok {
		return nil
	}
	s := t.file.SectionAt(header)
	if s == nil {
		return nil
	}
	b := s.Slice(header, min(size, s.End()-header))
	if len(b) < 8 || b[0] != 1 {
		return nil
	}
	r := elffile.Reader{Rest: b[4:], Addr: header + 4}
	at, ok := pointer(&r, b[1])
	if in := t.file.SectionAt(at); ok && in != nil {
		return in.From(at)
	}
	return nil
}

// frameParser walks a section of frame information. Entries it does not understand are skipped: other functions are not to
// suffer for them.
type frameParser struct {
	data []byte
	addr uint64
	eh   bool
	cies map[uint64]*cie
	out  []FDE
}

func parseFrames(data []byte, addr uint64, eh bool) *frameIndex {
	p := &frameParser{data: data, addr: addr, eh: eh, cies: map[uint64]*cie{}}
	for off := uint64(0); off+4 <= uint64(len(data)); {
		body, next, wide, ok := p.entry(off)
		if !ok {
			break
		}
		if body != nil {
			p.parse(off, body, wide)
		}
		off = next
	}
	sort.SliceStable(p.out, func(i, j int) bool { return p.out[i].Lo < p.out[j].Lo })
	return &frameIndex{fdes: p.out}
}

// entry gives the contents of the entry at off, from its id field on; nil for a terminator.
func (p *frameParser) entry(off uint64) (body *elffile.Reader, next uint64, wide, ok bool) {
	n, head := uint64(elffile.U32(p.data[off:])), uint64(4)
	if n == 0xffffffff {
		b := elffile.Sub(p.data, off+4, 8)
		if b == nil {
			return nil, 0, false, false
		}
		n, head, wide = elffile.U64(b), 12, true
	}
	if n == 0 {
		return nil, off + head, wide, true
	}
	b := elffile.Sub(p.data, off+head, n)
	if b == nil {
		return nil, 0, false, false
	}
	return &elffile.Reader{Rest: b, Addr: p.addr + off + head}, off + head + n, wide, true
}

func (p *frameParser) parse(off uint64, r *elffile.Reader, wide bool) {
	idOff, n := r.Addr-p.addr, 4
	if wide {
		n = 8
	}
	id := r.Uint(n)
	switch {
	case p.isCIE(id, wide):
		p.cieAt(off)
	case p.eh:
		p.parseFDE(r, p.cieAt(idOff-id))
	default:
		p.parseFDE(r, p.cieAt(id))
	}
}

func (p *frameParser) isCIE(id uint64, wide bool) bool {
	if p.eh {
		return id == 0
	}
	return id == 0xffffffff && !wide || id == ^uint64(0)
}

// cieAt parses the entry at off once; nil if it is not a usable one.
func (p *frameParser) cieAt(off uint64) *cie {
	if c, ok := p.cies[off]; ok {
		return c
	}
	var c *cie
	if off+4 <= uint64(len(p.data)) && off < off+4 {
		if r, _, wide, ok := p.entry(off); ok && r != nil {
			n := 4
			if wide {
				n = 8
			}
			if p.isCIE(r.Uint(n), wide) {
				c = p.parseCIE(r)
			}
		}
	}
	p.cies[off] = c
	return c
}

func (p *frameParser) parseCIE(r *elffile.Reader) *cie {
	version, aug := r.Byte(), string(r.Text())
	if version == 4 && !p.eh {
		if addrSize, segSize := r.Byte(), r.Byte(); addrSize != 8 || segSize != 0 {
			return nil
		}
	}
	c := &cie{codeAlign: r.ULEB(), dataAlign: r.SLEB(), lsdaEnc: peOmit}
	if version == 1 {
		c.ra = uint64(r.Byte())
	} else {
		c.ra = r.ULEB()
	}
	if rest, ok := strings.CutPrefix(aug, "z"); ok {
		c.sized = true
		if !c.augment(r.Part(r.ULEB()), rest) {
			return nil
		}
	} else if aug != "" {
		return nil
	}
	if r.Bad || c.ra > ripColumn {
		return nil
	}
	if len(r.Rest) > maxCIE {
		return nil
	}
	c.init = r.Rest
	return c
}

// augment reads the augmentation data of a CIE, letter by letter.
func (c *cie) augment(a *elffile.Reader, letters string) bool {
	for _, l := range []byte(letters) {
		switch l {
		case 'R':
			c.ptrEnc = a.Byte()
		case 'L':
			c.lsdaEnc = a.Byte()
		case 'P':
			// The personality routine itself is not needed, only what follows it.
			if _, ok := pointer(a, a.Byte()&0x0f); !ok {
				return false
			}
		case 'S':
			c.signal = true
		default:
			return false // its data may shift what follows
		}
	}
	return !a.Bad
}

// Bounds of the programs of frame descriptions in bytes. They are run again and again, the first for every function, the other also while
// the target stands still.
const (
	maxCIE          = 4096
	maxFrameProgram = 1 << 20
)

func (p *frameParser) parseFDE(r *elffile.Reader, c *cie) {
	if c == nil {
		return
	}
	lo, ok := pointer(r, c.ptrEnc)
	n, ok2 := pointer(r, c.ptrEnc&0x0f)
	if !ok || !ok2 || c.ptrEnc&peIndirect != 0 || lo == 0 || n == 0 || lo+n < lo {
		return
	}
	f := FDE{Lo: lo, Hi: lo + n, cie: c}
	if c.sized {
		a := r.Part(r.ULEB())
		if c.lsdaEnc != peOmit {
			f.lsda, ok = pointer(a, c.lsdaEnc)
			f.lsdaLost = !ok || c.lsdaEnc&peIndirect != 0
		}
	}
	if r.Bad {
		return
	}
	if len(r.Rest) > maxFrameProgram {
		return
	}
	f.prog = r.Rest
	p.out = append(p.out, f)
}
