package types

import (
	"debug/dwarf"
	"math"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/elffile"
)

// A locKind says what DWARF tells of where a parameter is at the first instruction.
type locKind uint8

const (
	locNone     locKind = iota // nothing
	locOther                   // something that is not handled, such as its place on the stack once the function has made room
	locRegister                // in register number n (DWARF's numbers, System V ABI, figure 3.36)
	locStack                   // n bytes above the canonical frame address, where the caller has put it
	locPointed                 // where register number n points to
	locDeref                   // where something on the stack points to
)

type location struct {
	kind locKind
	n    int64
	list bool // it changes within the function
}

// A lister reads locations of the parameters of one function.
type lister struct {
	root  *dwarf.Entry      // of the unit
	addrs []byte            // .debug_addr
	lists map[string][]byte // .debug_loc and .debug_loclists
	entry uint64            // of the function
	byCFA bool              // the frame base is the canonical frame address
	v5    bool
}

// at is where a parameter is at the entry of the function.
func (l *lister) at(e *dwarf.Entry) location {
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return location{}
	}
	switch v := f.Val.(type) {
	case []byte:
		return l.decode(v)
	case int64:
		return l.fromList(l.find(uint64(v), f.Class == dwarf.ClassLocList))
	case uint64: // an index
		return l.fromList(l.find(v, true))
	}
	return location{kind: locOther}
}

// fromList is what an expression of a location list says, nil if none holds at the entry.
func (l *lister) fromList(expr []byte) (loc location) {
	if expr != nil {
		loc = l.decode(expr)
	}
	loc.list = true
	return loc
}

// Operations of DWARF expressions (DWARF 5, 7.7.1).
const (
	opReg0       = 0x50
	opReg31      = 0x6f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opFbreg      = 0x91
	opDeref      = 0x06
	opCFA        = 0x9c
	opStackValue = 0x9f
	opEntryValue = 0xa3
	opGNUEntry   = 0xf3
)

// decode understands what is used for whole arguments at an entry.
func (l *lister) decode(expr []byte) location {
	r := elffile.Reader{Rest: expr}
	switch op := r.Byte(); {
	case r.Bad:
		return location{}
	case op >= opReg0 && op <= opReg31 && len(r.Rest) == 0:
		return location{kind: locRegister, n: int64(op - opReg0)}
	case op >= opBreg0 && op <= opBreg31:
		if n := r.SLEB(); n == 0 && !r.Bad && len(r.Rest) == 0 {
			return location{kind: locPointed, n: int64(op - opBreg0)}
		}
		return deref(&r)
	case op == opFbreg:
		if n := r.SLEB(); l.byCFA && !r.Bad && len(r.Rest) == 0 && n >= 0 && n < math.MaxInt32 {
			return location{kind: locStack, n: n}
		}
		return deref(&r)
	case op == opEntryValue || op == opGNUEntry: // of a register, and nothing else
		inner := r.Part(r.ULEB())
		if reg := inner.Byte(); !inner.Bad && len(inner.Rest) == 0 && reg >= opReg0 && reg <= opReg31 && r.Byte() == opStackValue && len(r.Rest) == 0 {
			return location{kind: locRegister, n: int64(reg - opReg0)}
		}
	}
	return location{kind: locOther}
}

// deref is the rest of an expression that may lead on to what a pointer points to.
func deref(r *elffile.Reader) location {
	if r.Byte() == opDeref && !r.Bad && len(r.Rest) == 0 {
		return location{kind: locDeref}
	}
	return location{kind: locOther}
}

// maxRanges bounds the entries of a location list that are read.
const maxRanges = 1 << 12

// find gives the expression that holds at the entry, nil if none does.
func (l *lister) find(off uint64, byIndex bool) []byte {
	base, _ := l.root.Val(dwarf.AttrLowpc).(uint64)
	if !l.v5 {
		return l.findOld(l.lists[".debug_loc"], off, base)
	}
	b := l.lists[".debug_loclists"]
	if byIndex {
		table := uint64(debuginfo.IntOf(l.root, attrLoclistsBase, 12)) // behind a header of 12 bytes if there is only one
		entry := elffile.Sub(b, table+4*min(off, 1<<30), 4)
		if entry == nil {
			return nil
		}
		off = table + uint64(elffile.U32(entry))
	}
	if off > uint64(len(b)) {
		return nil
	}
	return l.findNew(&elffile.Reader{Rest: b[off:]}, base)
}

func (l *lister) findOld(b []byte, off, base uint64) []byte {
	if off > uint64(len(b)) {
		return nil
	}
	r := elffile.Reader{Rest: b[off:]}
	for range maxRanges {
		lo, hi := r.Uint(8), r.Uint(8)
		switch {
		case r.Bad || lo == 0 && hi == 0:
			return nil
		case lo == math.MaxUint64:
			base = hi
			continue
		}
		expr := r.Take(int(r.Uint(2)))
		if r.Bad {
			return nil
		}
		if l.entry >= base+lo && l.entry < base+hi {
			return expr
		}
	}
	return nil
}

// Kinds of entries of location lists (DWARF 5, 7.7.3).
const (
	lleEnd = iota
	lleBaseX
	lleStartXEndX
	lleStartXLength
	lleOffsets
	lleDefault
	lleBase
	lleStartEnd
	lleStartLength
	lleViews // of GNU
)

func (l *lister) findNew(r *elffile.Reader, base uint64) []byte {
	for range maxRanges {
		var lo, hi uint64
		switch kind := r.Byte(); kind {
		case lleBaseX:
			base = l.indexed(r.ULEB())
			continue
		case lleBase:
			base = r.Uint(8)
			continue
		case lleViews:
			r.ULEB()
			r.ULEB()
			continue
		case lleStartXEndX:
			lo, hi = l.indexed(r.ULEB()), l.indexed(r.ULEB())
		case lleStartXLength:
			lo = l.indexed(r.ULEB())
			hi = lo + r.ULEB()
		case lleOffsets:
			lo, hi = base+r.ULEB(), base+r.ULEB()
		case lleDefault:
			lo, hi = 0, math.MaxUint64
		case lleStartEnd:
			lo, hi = r.Uint(8), r.Uint(8)
		case lleStartLength:
			lo = r.Uint(8)
			hi = lo + r.ULEB()
		default:
			return nil
		}
		expr := r.Take(int(min(r.ULEB(), uint64(len(r.Rest)+1))))
		if r.Bad {
			return nil
		}
		if l.entry >= lo && l.entry < hi {
			return expr
		}
	}
	return nil
}

// indexed is an address of .debug_addr; 0 if there is none.
func (l *lister) indexed(i uint64) uint64 {
	base := uint64(debuginfo.IntOf(l.root, dwarf.AttrAddrBase, 8))
	if b := elffile.Sub(l.addrs, base+8*min(i, 1<<40), 8); b != nil {
		return elffile.U64(b)
	}
	return 0
}
