package types

import (
	"debug/dwarf"
	"errors"
	"slices"

	"culprit/daemon/image/debuginfo"
)

// Which argument is where at the first instruction of a function: System V ABI, AMD64 supplement, 3.2.3.

// A passing says how one argument is passed.
type passing struct {
	regs    int   // how many general registers it takes, from reg on
	reg     int   // 0 to 5; -1 if it is not in one
	stack   int64 // bytes from the stack pointer at the entry, if it is there; 0 if not
	floats  bool  // it is in a vector register
	pointer bool  // what is passed is a pointer to it
}

// An argClass is how an eightbyte is passed.
type argClass uint8

const (
	classNone argClass = iota
	classInteger
	classSSE
	classX87 // and the second half of a long double: on the stack as arguments, in a register as results
	classX87Up
	classMemory
)

var errUnknownABI = errors.New("how this is passed is not known")

// A caller hands out registers and stack in the order of the parameters.
type caller struct {
	d        *dies
	gpr, sse int
	stack    int64
}

// start is the caller before the first parameter: a result that is returned in memory takes the first register.
func (d *dies) start(result ctype) (*caller, error) {
	c := &caller{d: d, stack: 8}
	classes, err := d.classes(result)
	if err != nil {
		return nil, err
	}
	pointed, err := d.byReference(result, 0)
	if result.kind == tRecord && (pointed || slices.Contains(classes, classMemory)) {
		c.gpr = 1
	}
	return c, err
}

// pass places the next argument. Whether an object of C++ is passed by a pointer to it is best seen from what DWARF says of its place.
func (c *caller) pass(t ctype, loc location) (passing, error) {
	pointed := loc.kind == locPointed || loc.kind == locDeref
	if t.kind == tRecord && loc.kind == locNone {
		var err error
		if pointed, err = c.d.byReference(t, 0); err != nil {
			return passing{}, err
		}
	}
	if t.kind == tRecord && pointed {
		p, err := c.place([]argClass{classInteger}, 8, 8)
		p.pointer = true
		return p, err
	}
	classes, err := c.d.classes(t)
	if err != nil {
		return passing{}, err
	}
	if t.kind == tWide && c.gpr == argRegisters-1 {
		return passing{}, errUnknownABI // clang before version 18 splits it
	}
	align := int64(8)
	if t.size >= 16 && (t.kind == tFloat || t.kind == tComplex && t.size == 32 || t.kind == tWide) {
		align = 16
	}
	if t.kind == tVector {
		align = max(8, t.size)
	}
	if t.kind == tRecord && (slices.Contains(classes, classMemory) || slices.Contains(classes, classX87)) {
		if align, err = c.d.alignOf(t, 0); err != nil {
			return passing{}, err
		}
	}
	return c.place(classes, t.size, align)
}

func (c *caller) place(classes []argClass, size, align int64) (passing, error) {
	p := passing{reg: -1}
	var gpr, sse int
	for _, cl := range classes {
		switch cl {
		case classInteger:
			gpr++
		case classSSE:
			sse++
		}
	}
	inMemory := slices.Contains(classes, classMemory) || slices.Contains(classes, classX87) || c.gpr+gpr > argRegisters || c.sse+sse > sseRegisters
	switch {
	case !inMemory:
		if gpr > 0 {
			p.reg, p.regs = c.gpr, gpr
		}
		p.floats = sse > 0
		c.gpr, c.sse = c.gpr+gpr, c.sse+sse
	case size < 0 || size > maxRecord || align > 64:
		return p, errUnknownABI
	default: // the stack pointer is 8 bytes below a multiple of 16
		align = max(align, 8)
		p.stack = (c.stack-8+align-1)/align*align + 8
		c.stack = p.stack + (size+7)&^7
	}
	return p, nil
}

// classes are those of a type's eightbytes; classMemory alone if it is passed and returned in memory.
func (d *dies) classes(t ctype) ([]argClass, error) {
	switch t.kind {
	case tVoid:
		return nil, nil
	case tInteger, tPointer, tReference:
		if t.size > 8 {
			return nil, errUnknownABI
		}
		return []argClass{classInteger}, nil
	case tWide:
		return []argClass{classInteger, classInteger}, nil
	case tToMember:
		return slices.Repeat([]argClass{classInteger}, int(t.size/8)), nil
	case tFloat, tComplex, tVector:
		return t.floating()
	case tRecord:
		return d.recordClasses(t)
	}
	return nil, errUnknownABI
}

// floating are the classes of what is passed in vector registers. long double is not, but __float128 is.
func (t *ctype) floating() ([]argClass, error) {
	switch {
	case t.kind == tVector:
		return []argClass{classSSE}, nil
	case t.kind == tFloat && t.size == 16 && t.name != "_Float128" && t.name != "__float128":
		return []argClass{classX87, classX87Up}, nil
	case t.kind == tFloat && t.size <= 16:
		return []argClass{classSSE}, nil
	case t.kind == tComplex && t.size <= 8:
		return []argClass{classSSE}, nil
	case t.kind == tComplex && t.size == 16:
		return []argClass{classSSE, classSSE}, nil
	case t.kind == tComplex && t.size == 32:
		return []argClass{classMemory}, nil
	}
	return nil, errUnknownABI
}

func (d *dies) recordClasses(t ctype) ([]argClass, error) {
	switch {
	case t.declared:
		return nil, errUnknownABI
	case t.size > 16:
		return []argClass{classMemory}, nil
	}
	var eight [2]argClass
	if err := d.flatten(t, 0, &eight, 0); err != nil {
		return nil, err
	}
	if slices.Contains(eight[:], classMemory) || eight[1] == classX87Up && eight[0] != classX87 {
		return []argClass{classMemory}, nil
	}
	list := slices.DeleteFunc(eight[:], func(c argClass) bool { return c == classNone })
	if len(list) == 0 && t.size > 1 {
		return nil, errUnknownABI // gcc leaves out the members of transparent unions
	}
	return list, nil
}

// flatten notes the classes of what a type is made of, which begins off bytes inside of an argument.
func (d *dies) flatten(t ctype, off int64, eight *[2]argClass, depth int) error {
	if depth > maxInside || off < 0 || off > 16 {
		return errUnknownABI
	}
	switch t.kind {
	case tRecord:
		return d.flattenMembers(t, off, eight, depth)
	case tArray:
		elem, err := d.resolve(t.elem)
		if err != nil {
			return err
		}
		for i := int64(0); i < t.count && i < 16 && err == nil; i++ {
			err = d.flatten(elem, off+i*elem.size, eight, depth+1)
		}
		return err
	case tVector, tOther, tVoid:
		return errUnknownABI
	}
	classes, err := d.classes(t)
	if err != nil {
		return err
	}
	align := min(t.size, 8)
	if align > 0 && off%align != 0 { // packed
		classes = []argClass{classMemory}
	}
	for i, c := range classes {
		if k := off/8 + int64(i); k < 2 {
			eight[k] = merge(eight[k], c)
		}
	}
	return nil
}

func merge(a, b argClass) argClass {
	switch {
	case a == b || b == classNone:
		return a
	case a == classNone:
		return b
	case a == classMemory || b == classMemory:
		return classMemory
	case a == classInteger || b == classInteger:
		return classInteger
	case a >= classX87 || b >= classX87:
		return classMemory
	}
	return classSSE
}

func (d *dies) flattenMembers(t ctype, off int64, eight *[2]argClass, depth int) error {
	list, err := d.membersOf(t)
	if err != nil {
		return err
	}
	for _, e := range list {
		at, ok := memberOffset(e)
		if e.Val(dwarf.AttrBitSize) != nil {
			at, ok = bitFieldOffset(e)
		}
		if !ok {
			continue // static, or a virtual base, whose class is passed by reference
		}
		m, err := d.resolve(typeRefOf(e))
		if err == nil {
			err = d.flatten(m, off+at, eight, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bitFieldOffset is where the number begins that a bit field is cut from, by DWARF 4 and 5.
func bitFieldOffset(e *dwarf.Entry) (off int64, ok bool) {
	if bits, ok := e.Val(attrDataBits).(int64); ok {
		return bits / 64 * 8, bits >= 0
	}
	off, ok = memberOffset(e)
	return off / 8 * 8, ok
}

// membersOf are the fields and base classes of a record.
func (d *dies) membersOf(t ctype) (list []*dwarf.Entry, err error) {
	err = d.Children(t.self.Offset, func(e *dwarf.Entry) bool {
		if e.Tag == dwarf.TagMember || e.Tag == dwarf.TagInheritance {
			list = append(list, e)
		}
		return len(list) < 1<<12
	})
	return list, err
}

// alignOf is the alignment of a type that is passed on the stack: 8 bytes, or more where something inside asks for it.
func (d *dies) alignOf(t ctype, depth int) (int64, error) {
	if n := debuginfo.IntOf(t.self, dwarf.AttrAlignment, 0); n > 8 {
		return n, nil
	}
	if depth > 4 {
		return 8, errUnknownABI
	}
	list, err := d.membersOf(t)
	align := int64(8)
	for _, e := range list {
		m, err := d.resolve(typeRefOf(e))
		if err != nil {
			return 8, err
		}
		if m.kind == tArray {
			if m, err = d.resolve(m.elem); err != nil {
				return 8, err
			}
		}
		switch {
		case m.kind == tRecord && !m.declared:
			inner, err := d.alignOf(m, depth+1)
			if err != nil {
				return 8, err
			}
			align = max(align, inner)
		case m.kind == tVector:
			align = max(align, m.size)
		case m.kind == tWide || m.kind == tFloat && m.size == 16 || m.kind == tComplex && m.size == 32:
			align = max(align, 16)
		}
		if n := debuginfo.IntOf(e, dwarf.AttrAlignment, 0); n > align {
			align = n
		}
	}
	return align, err
}
