package image

import (
	"debug/elf"
	"sort"
	"strings"
)

// Call frame information is read here and not with delve's pkg/dwarf/frame: that parser drops the language-specific data
// (landing pads) and the signal mark, stops at the first entry it does not know, never fills the table from which
// DW_CFA_restore restores (so a restored register reads as undefined), and panics on damaged programs.

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

// An fde describes the frames of code in [lo, hi).
type fde struct {
	lo, hi   uint64
	cie      *cie
	prog     []byte
	lsda     uint64 // address of the language-specific data, 0 if there is none
	lsdaLost bool   // there is some, but its address cannot be known from the file
}

// frameIndex holds frame descriptions sorted by lo.
type frameIndex struct{ fdes []fde }

// find gives the description that covers pc, nil if there is none.
func (x *frameIndex) find(pc uint64) *fde {
	if x == nil {
		return nil
	}
	i := sort.Search(len(x.fdes), func(i int) bool { return x.fdes[i].lo > pc }) - 1
	if i < 0 || pc >= x.fdes[i].hi {
		return nil
	}
	return &x.fdes[i]
}

// ehFrames is the index of .eh_frame; empty if there is none.
func (o *Object) ehFrames() *frameIndex {
	x, _ := o.frames.get(o.name, func() (*frameIndex, error) {
		s := o.section(".eh_frame")
		if s == nil {
			s = o.ehFrameOfSegments()
		}
		if s == nil {
			return &frameIndex{}, nil
		}
		return parseFrames(s.bytes(), s.addr, true), nil
	})
	return x
}

// debugFrames is the index of .debug_frame (Go, and C built without unwind tables), of the separate debug file if need be.
func (o *Object) debugFrames() *frameIndex {
	x, _ := o.debugF.get(o.name, func() (*frameIndex, error) {
		b := o.debugSection(".debug_frame")
		if b == nil {
			if d := o.debugFile(); d != nil {
				b = d.debugSection(".debug_frame")
			}
		}
		return parseFrames(b, 0, false), nil
	})
	return x
}

// fdeAt finds the frame description of pc.
func (o *Object) fdeAt(pc uint64) *fde {
	if f := o.ehFrames().find(pc); f != nil {
		return f
	}
	return o.debugFrames().find(pc)
}

// ehFrameOfSegments finds .eh_frame through PT_GNU_EH_FRAME in a file without section headers. Its header is: version 1,
// three encodings, then the pointer to .eh_frame (LSB Core, "The .eh_frame_hdr section").
func (o *Object) ehFrameOfSegments() *section {
	for _, p := range o.file.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		s := o.sectionAt(p.Vaddr)
		if s == nil {
			return nil
		}
		b := s.slice(p.Vaddr, min(p.Filesz, s.end()-p.Vaddr))
		if len(b) < 8 || b[0] != 1 {
			return nil
		}
		r := reader{b: b[4:], addr: p.Vaddr + 4}
		at, ok := r.pointer(b[1])
		if t := o.sectionAt(at); ok && t != nil {
			return &section{o: o, addr: at, size: t.end() - at, off: t.off + (at - t.addr), fileSize: t.end() - at, flags: t.flags}
		}
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
	out  []fde
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
	sort.SliceStable(p.out, func(i, j int) bool { return p.out[i].lo < p.out[j].lo })
	return &frameIndex{fdes: p.out}
}

// entry gives the contents of the entry at off, from its id field on; nil for a terminator.
func (p *frameParser) entry(off uint64) (body *reader, next uint64, wide, ok bool) {
	n, head := uint64(u32(p.data[off:])), uint64(4)
	if n == 0xffffffff {
		b := sub(p.data, off+4, 8)
		if b == nil {
			return nil, 0, false, false
		}
		n, head, wide = u64(b), 12, true
	}
	if n == 0 {
		return nil, off + head, wide, true
	}
	b := sub(p.data, off+head, n)
	if b == nil {
		return nil, 0, false, false
	}
	return &reader{b: b, addr: p.addr + off + head}, off + head + n, wide, true
}

func (p *frameParser) parse(off uint64, r *reader, wide bool) {
	idOff, n := r.addr-p.addr, 4
	if wide {
		n = 8
	}
	id := r.uint(n)
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
			if p.isCIE(r.uint(n), wide) {
				c = p.parseCIE(r)
			}
		}
	}
	p.cies[off] = c
	return c
}

func (p *frameParser) parseCIE(r *reader) *cie {
	version, aug := r.u8(), r.cstring()
	if version == 4 && !p.eh {
		if addrSize, segSize := r.u8(), r.u8(); addrSize != 8 || segSize != 0 {
			return nil
		}
	}
	c := &cie{codeAlign: r.uleb(), dataAlign: r.sleb(), lsdaEnc: peOmit}
	if version == 1 {
		c.ra = uint64(r.u8())
	} else {
		c.ra = r.uleb()
	}
	if rest, ok := strings.CutPrefix(aug, "z"); ok {
		c.sized = true
		if !c.augment(r.part(r.uleb()), rest) {
			return nil
		}
	} else if aug != "" {
		return nil
	}
	if r.bad || c.ra > ripColumn {
		return nil
	}
	if len(r.b) > maxCIE {
		return nil
	}
	c.init = r.b
	return c
}

// augment reads the augmentation data of a CIE, letter by letter.
func (c *cie) augment(a *reader, letters string) bool {
	for _, l := range []byte(letters) {
		switch l {
		case 'R':
			c.ptrEnc = a.u8()
		case 'L':
			c.lsdaEnc = a.u8()
		case 'P':
			// The personality routine itself is not needed, only what follows it.
			if _, ok := a.pointer(a.u8() & 0x0f); !ok {
				return false
			}
		case 'S':
			c.signal = true
		default:
			return false // its data may shift what follows
		}
	}
	return !a.bad
}

// Bounds of the programs of frame descriptions in bytes. They are run again and again, the first for every function, the other also while
// the target stands still.
const (
	maxCIE          = 4096
	maxFrameProgram = 1 << 20
)

func (p *frameParser) parseFDE(r *reader, c *cie) {
	if c == nil {
		return
	}
	lo, ok := r.pointer(c.ptrEnc)
	n, ok2 := r.pointer(c.ptrEnc & 0x0f)
	if !ok || !ok2 || c.ptrEnc&peIndirect != 0 || lo == 0 || n == 0 || lo+n < lo {
		return
	}
	f := fde{lo: lo, hi: lo + n, cie: c}
	if c.sized {
		a := r.part(r.uleb())
		if c.lsdaEnc != peOmit {
			f.lsda, ok = a.pointer(c.lsdaEnc)
			f.lsdaLost = !ok || c.lsdaEnc&peIndirect != 0
		}
	}
	if r.bad {
		return
	}
	if len(r.b) > maxFrameProgram {
		return
	}
	f.prog = r.b
	p.out = append(p.out, f)
}
