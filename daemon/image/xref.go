package image

import (
	"cmp"
	"debug/elf"
	"runtime"
	"slices"
	"sync"

	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
	"culprit/trampoline/x86"
)

// xref is what one pass over all code and data of the object finds out about how functions are reached from elsewhere.
// Everything is sorted. It errs towards too many targets: a place that is taken for a target costs a little room for a
// trampoline, one that is missed costs the process.
type xref struct {
	into  []uint64  // direct branches from other functions (or from code that is in none)
	taken []uint64  // addresses of code in data, in relocations, loaded by lea or (at fixed addresses) as an immediate
	pads  []uint64  // landing pads
	calls []uint64  // targets of direct calls
	reads []Range   // bytes of code that are read as data by their address, joined
	named namedCode // what may be compared with where a fault happened
	owner map[*Function]*Function
	lost  map[*Function]bool    // fragments without an owner
	parts map[*Function][]Range // fragments that were found to belong to a function

	jumps []farJump
}

// A farJump is a direct branch out of the function that it lies in.
type farJump struct {
	from *Function
	to   uint64
}

// xref makes the pass, once.
func (o *Object) xref() *xref {
	x, _ := o.xrefs.Get(o.elf.Name(), func() (*xref, error) {
		x := &xref{owner: map[*Function]*Function{}, lost: map[*Function]bool{}, parts: map[*Function][]Range{}}
		t := o.functions()
		o.scanCode(x, t)
		o.scanData(x)
		o.scanPads(x)
		o.scanOwnTables(x)
		for _, l := range []*[]uint64{&x.into, &x.taken, &x.pads, &x.calls, &x.named.by, &x.named.ordered, &x.named.equal, &x.named.tabled, &x.named.own} {
			slices.Sort(*l)
			*l = slices.Compact(*l)
		}
		x.reads = disjoint(x.reads)
		o.notAsked(x)
		o.adopt(x, t)
		x.jumps = nil
		return x, nil
	})
	if x == nil {
		return &xref{}
	}
	return x
}

// within gives the part of a sorted list that lies in r.
func within(sorted []uint64, r Range) []uint64 {
	i, _ := slices.BinarySearch(sorted, r.Lo)
	j, _ := slices.BinarySearch(sorted, r.Hi)
	return sorted[i:max(i, j)]
}

func has(sorted []uint64, v uint64) bool {
	_, ok := slices.BinarySearch(sorted, v)
	return ok
}

// A stretch is code to decode: one span of a function, or a gap between spans (fn is nil).
type stretch struct {
	sec    *elffile.Section
	lo, hi uint64
	fn     *Function
}

// stretches cuts the executable sections into spans and gaps.
func (o *Object) stretches(t *functionTable) (out []stretch) {
	for _, s := range o.elf.Sections() {
		if !s.Exec() || s.IsPLT() || s.FileSize == 0 {
			continue
		}
		at, twice := s.Addr, uint64(0)
		for i, _ := slices.BinarySearchFunc(t.spans, s.Addr, func(p span, a uint64) int { return cmp.Compare(p.lo, a) }); i < len(t.spans) && t.spans[i].lo < s.End(); i++ {
			p := t.spans[i]
			if p.lo > at {
				out = o.cut(out, stretch{s, at, p.lo, nil})
			}
			lo, hi := p.lo, min(p.hi, s.End())
			if at > lo { // it lies within another, as far as it does
				if twice += min(at, hi) - lo; twice > s.Size {
					lo = at
				}
			}
			if lo < hi {
				out = o.cut(out, stretch{s, lo, hi, p.fn})
			}
			at = max(at, p.hi)
		}
		if at < s.End() {
			out = o.cut(out, stretch{s, at, s.End(), nil})
		}
	}
	return out
}

// cut adds a stretch in pieces that are decoded each by itself.
func (o *Object) cut(out []stretch, s stretch) []stretch {
	for _, r := range o.cutAtHandlers(Range{s.lo, s.hi}) {
		out = append(out, stretch{s.sec, r.Lo, r.Hi, s.fn})
	}
	return out
}

// scanCode decodes all code on all processors; the workers collect on their own and are merged at the end.
func (o *Object) scanCode(x *xref, t *functionTable) {
	all := o.stretches(t)
	n := runtime.GOMAXPROCS(0)
	found := make([]codeScan, n)
	var wg sync.WaitGroup
	for w := range n {
		found[w] = codeScan{o: o, fixed: o.elf.Kind() == elffile.KindExec}
		part := all[len(all)*w/n : len(all)*(w+1)/n]
		wg.Go(func() {
			var err error
			defer lazy.Guard(&err, o.elf.Name())
			for _, s := range part {
				found[w].scan(s)
			}
		})
	}
	wg.Wait()
	for _, f := range found {
		x.into = append(x.into, f.into...)
		x.taken = append(x.taken, f.taken...)
		x.calls = append(x.calls, f.calls...)
		x.reads = append(x.reads, f.reads...)
		x.named.by = append(x.named.by, f.named.by...)
		x.named.ordered = append(x.named.ordered, f.named.ordered...)
		x.named.equal = append(x.named.equal, f.named.equal...)
		x.jumps = append(x.jumps, f.jumps...)
	}
}

type codeScan struct {
	o                  *Object
	fixed              bool // addresses may appear as 32-bit immediates
	into, taken, calls []uint64
	reads              []Range
	named              namedCode
	jumps              []farJump
}

// endLook is after how many bytes of code the pass asks whether it is to end.
const endLook = 1 << 20

// maxFound bounds the targets that one processor finds, 8 or 16 bytes each. Some 100 MB of ordinary code have ten million.
const maxFound = 48 << 20

// scan decodes a stretch one instruction after the other. Where it does not decode it goes on at the next byte in a gap
// (data, or code that was never meant to be read in this way), and gives up in a function, which Flow refuses.
func (c *codeScan) scan(s stretch) {
	code := s.sec.Slice(s.lo, s.hi-s.lo)
	for off, next := 0, endLook; off < len(code); {
		if off >= next {
			if next += endLook; c.o.elf.Ended() != nil || len(c.into)+len(c.taken)+len(c.calls)+len(c.jumps)+len(c.reads) > maxFound {
				c.o.elf.MarkUnread()
				return
			}
		}
		if n := x86.Plain(code[off:]); n > 0 && (n < leastImmediate || !c.fixed) {
			off += n
			continue
		}
		in, err := x86.Decode(code[off:], s.lo+uint64(off))
		if err != nil || in.Len <= 0 {
			off++
			continue
		}
		c.note(&in, code[off:], s.fn)
		off += in.Len
	}
}

func (c *codeScan) note(in *x86.Inst, code []byte, fn *Function) {
	c.noteRead(in, code)
	switch in.Flow {
	case x86.FlowJump, x86.FlowCond, x86.FlowLoop:
		if fn == nil || !fn.Contains(in.Target) {
			c.into = append(c.into, in.Target)
			if fn != nil {
				c.jumps = append(c.jumps, farJump{fn, in.Target})
			}
		}
		return
	case x86.FlowCall:
		c.calls = append(c.calls, in.Target)
		return
	}
	c.name(in, code, fn)
	if in.Opcode == opLea && in.RIPOff != 0 && c.o.elf.ExecAt(in.RIPTarget) != nil {
		c.taken = append(c.taken, in.RIPTarget)
		c.sums(in, code, in.RIPTarget)
	}
	if v, ok := immediate(in, code); c.fixed && ok && c.o.elf.ExecAt(v) != nil {
		c.taken = append(c.taken, v)
		c.sums(in, code, v)
	}
}

// leastImmediate is how long an instruction is at least that immediate gives something of.
const leastImmediate = 5

// immediate gives the last 4 or 8 bytes of the instructions that put a constant somewhere: mov and push.
func immediate(in *x86.Inst, code []byte) (uint64, bool) {
	switch {
	case in.Opcode&^7 == opMovReg && in.Prefix&x86.PrefixRexW != 0 && in.Len >= 10:
		return elffile.U64(code[in.Len-8:]), true
	case in.Opcode&^7 == opMovReg && in.Len >= 5, in.Opcode == opMovMem && in.Len >= 6, in.Opcode == opPushImm && in.Len >= 5:
		return uint64(elffile.U32(code[in.Len-4:])), true
	}
	return 0, false
}

// scanData finds code addresses in relocations, and in an object with fixed addresses in every aligned word of its data
// (it needs no relocations for them: jump tables, labels of computed gotos, tables of functions).
func (o *Object) scanData(x *xref) {
	for _, v := range o.relocations().values {
		if o.elf.ExecAt(v) != nil {
			x.taken = append(x.taken, v)
			x.named.tabled = append(x.named.tabled, v)
		}
	}
	if o.elf.Kind() != elffile.KindExec {
		return
	}
	for _, s := range o.elf.Sections() {
		if !s.Alloc() || s.Exec() || s.Type != elf.SHT_PROGBITS || s.Name == ".eh_frame" || s.Name == ".gopclntab" {
			continue
		}
		b := s.Bytes()
		b = b[min(uint64(len(b)), -s.Addr&7):]
		for ; len(b) >= 8; b = b[8:] {
			if v := elffile.U64(b); o.elf.ExecAt(v) != nil {
				x.taken = append(x.taken, v)
				x.named.tabled = append(x.named.tabled, v)
			}
		}
	}
}

func (o *Object) scanPads(x *xref) {
	fdes := o.frames.Described()
	seen := uint64(0)
	for i := range fdes {
		// The same table under many descriptions would let a small file ask for much work.
		pads, _ := o.frames.PadAddresses(&fdes[i])
		if seen += uint64(len(pads)); seen > uint64(o.elf.Size()) {
			return
		}
		x.pads = append(x.pads, pads...)
	}
}

// adopt finds the function that a fragment belongs to: the only one that jumps into it, or the only one into whose middle it
// jumps back. GCC moves unlikely code away from a function without a symbol that would tell after stripping.
func (o *Object) adopt(x *xref, t *functionTable) {
	frag := map[*Function]bool{}
	for _, f := range t.funcs {
		if f.coldSymbol || f.maybeFragment && (f.bare || !has(x.calls, f.Addr) && !has(x.taken, f.Addr)) {
			frag[f] = true
		}
	}
	if len(frag) == 0 {
		return
	}
	into, back := map[*Function]map[*Function]bool{}, map[*Function]map[*Function]bool{}
	for _, j := range x.jumps {
		s := t.at(j.to)
		if s == nil || s.fn == j.from {
			continue
		}
		if frag[s.fn] {
			addTo(into, s.fn, j.from)
		}
		if frag[j.from] && j.to != s.fn.Addr {
			addTo(back, j.from, s.fn)
		}
	}
	o.padsInto(t, frag, into)
	for f := range frag {
		if owner := ownerOf(f, frag, into, back, 0); owner != nil {
			x.owner[f] = owner
		} else {
			x.lost[f] = true
		}
	}
	for _, f := range t.funcs {
		if owner := x.owner[f]; owner != nil {
			x.parts[owner] = append(x.parts[owner], f.ranges()...)
		}
	}
}

func addTo(m map[*Function]map[*Function]bool, k, v *Function) {
	if m[k] == nil {
		m[k] = map[*Function]bool{}
	}
	m[k][v] = true
}

// padsInto adds exceptions as a way from a function into a fragment.
func (o *Object) padsInto(t *functionTable, frag map[*Function]bool, into map[*Function]map[*Function]bool) {
	for i, fdes := 0, o.frames.Described(); i < len(fdes); i++ {
		if !fdes[i].HasPads() {
			continue
		}
		from := t.at(fdes[i].Lo)
		pads, _ := o.frames.PadAddresses(&fdes[i])
		for _, p := range pads {
			if s := t.at(p); from != nil && s != nil && s.fn != from.fn && frag[s.fn] {
				addTo(into, s.fn, from.fn)
			}
		}
	}
}

// ownerOf follows fragments that are reached from fragments; a chain has no use for more than a few links.
func ownerOf(f *Function, frag map[*Function]bool, into, back map[*Function]map[*Function]bool, depth int) *Function {
	for _, m := range []map[*Function]bool{into[f], back[f]} {
		if len(m) != 1 {
			continue
		}
		for g := range m {
			if !frag[g] {
				return g
			}
			if depth < 4 && g != f {
				return ownerOf(g, frag, into, back, depth+1)
			}
		}
	}
	return nil
}
