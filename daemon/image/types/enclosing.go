package types

import (
	"debug/dwarf"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/lazy"
	"culprit/daemon/image/unwind"
)

// Who holds an address: a variable of a function that is on the stack points into the object, or is it.

// Enclosing names what lies at an address of the process by the variables and parameters of a function on the stack, those of
// functions that were put into it included: "Queue.lock" where one points to a Queue in which it is, "serve::gate" where it is a
// variable on the stack. heap tells the former from the latter. ok is false where DWARF does not tell; what only a separate debug file
// knows does not count: what libraries call their insides is no name for people.
func (x *Info) Enclosing(f Func, a unwind.Activation, addr uint64) (name string, heap, ok bool) {
	var err error
	defer lazy.Guard(&err, x.file.Name())
	if !x.dwarf.Own() {
		return "", false, false
	}
	u := x.dwarf.Units().At(f.Addr)
	if u == nil {
		return "", false, false
	}
	d := x.dies(maxEntries)
	if d == nil {
		return "", false, false
	}
	off, err := x.subprograms.find(x, u, f.Addr)
	if off == 0 || err != nil {
		return "", false, false
	}
	h := holder{a: a, pc: a.Regs.LookupPC() - a.Bias, addr: addr, d: d}
	h.l = x.lister(u, h.pc)
	ok = h.function(off, 0)
	return h.name, h.heap, ok
}

// A holder looks for a variable that leads to an address.
type holder struct {
	d    *dies
	l    *lister
	a    unwind.Activation
	pc   uint64 // file virtual address
	addr uint64
	base int64  // frame base
	fn   string // whose variables are looked at

	name string
	heap bool
}

// function looks through a function.
func (h *holder) function(off dwarf.Offset, depth int) bool {
	chain, err := h.d.Chain(off)
	if err != nil || len(chain) == 0 {
		return false
	}
	if expr, ok := chain[0].Val(dwarf.AttrFrameBase).([]byte); ok {
		if v, _, ok := unwind.Locate(expr, h.a, h.base); ok { // a register, or the canonical frame address
			h.base = int64(v)
		}
	}
	outer := h.fn
	for _, e := range chain {
		if n := debuginfo.NameOf(e); n != "" {
			h.fn = n
			break
		}
	}
	found := h.scope(off, depth)
	h.fn = outer
	return found
}

// scope looks through what is inside of a function or block: the inner ones first, since they are nearer to the lock.
func (h *holder) scope(off dwarf.Offset, depth int) bool {
	if depth > maxInside {
		return false
	}
	var inner, own []*dwarf.Entry
	err := h.d.Children(off, func(e *dwarf.Entry) bool {
		switch e.Tag {
		case dwarf.TagLexDwarfBlock, dwarf.TagTryDwarfBlock, dwarf.TagInlinedSubroutine:
			inner = append(inner, e)
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			own = append(own, e)
		}
		return len(inner)+len(own) < 1<<12
	})
	if err != nil {
		return false
	}
	for _, e := range inner {
		if !h.covers(e) {
			continue
		}
		if e.Tag == dwarf.TagInlinedSubroutine && h.function(e.Offset, depth+1) || e.Tag != dwarf.TagInlinedSubroutine && h.scope(e.Offset, depth+1) {
			return true
		}
	}
	for _, e := range own {
		if h.leads(e) {
			return true
		}
	}
	return false
}

// covers reports whether a block has code at pc.
func (h *holder) covers(e *dwarf.Entry) bool {
	ranges, err := h.d.Ranges(e)
	if err != nil {
		return false
	}
	for _, r := range ranges {
		if h.pc >= r[0] && h.pc < r[1] {
			return true
		}
	}
	return false
}

// leads reports whether a variable is, or points to, what the address lies in, and names it then.
func (h *holder) leads(e *dwarf.Entry) bool {
	name, t, err := h.d.typed(e.Offset)
	if err != nil || t.kind != tPointer && t.kind != tReference && t.kind != tRecord && t.kind != tArray {
		return false
	}
	v, memory, ok := h.place(e)
	if !ok {
		return false
	}
	if t.kind == tRecord || t.kind == tArray {
		return memory && name != "" && h.within(t, v, h.fn+"::"+name, false)
	}
	if memory {
		if v, err = h.a.Mem(v); err != nil {
			return false
		}
	}
	to, err := h.d.resolve(t.elem)
	if err != nil || to.kind != tRecord || to.isLock() || to.name == "" || reserved.MatchString(to.name) {
		return false
	}
	return h.within(to, v, to.name, true)
}

// within names the part of a value at v that the address lies in.
func (h *holder) within(t ctype, v uint64, name string, heap bool) bool {
	if off := h.addr - v; h.addr >= v && int64(off) < h.d.sizeOf(t, 0) {
		path, rest, lock := h.d.path(t, int64(off))
		if (rest == 0 || lock) && (path != "" || !heap) {
			h.name, h.heap = name+path, heap
			return true
		}
	}
	return false
}

// place is the value of a variable, or where it is in memory.
func (h *holder) place(e *dwarf.Entry) (v uint64, memory, ok bool) {
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return 0, false, false
	}
	var expr []byte
	switch loc := f.Val.(type) {
	case []byte:
		expr = loc
	case int64:
		expr = h.l.find(uint64(loc), f.Class == dwarf.ClassLocList)
	case uint64:
		expr = h.l.find(loc, true)
	}
	if len(expr) == 0 {
		return 0, false, false
	}
	return unwind.Locate(expr, h.a, h.base)
}
