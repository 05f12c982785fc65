package image

import (
	"debug/dwarf"
	"fmt"
	"regexp"
	"strings"
)

// Variables as DWARF describes them: what symbols do not tell is of which type they are, and in which function a static one is.

// A variable is where DWARF describes one that has a fixed address.
type variable struct {
	entry dwarf.Offset
	scope string // the function that it is static in, "" if it is in none
}

// maxVariables bounds how many are kept.
const maxVariables = 1 << 20

// variablesOf lists the variables of all units by their addresses.
func (x *unitIndex) variablesOf() (map[uint64]variable, error) {
	return x.fixed.get("variables", func() (map[uint64]variable, error) {
		m := map[uint64]variable{}
		data := x.data()
		if data == nil {
			return m, fmt.Errorf("DWARF is damaged")
		}
		c := variableCollector{x: x, d: &dies{x: x, r: data.Reader(), left: maxSearched}, m: m}
		for _, off := range unitOffsets(x.sections[".debug_info"]) {
			if err := c.unit(off); err != nil {
				return m, err
			}
		}
		return m, nil
	})
}

type variableCollector struct {
	x      *unitIndex
	d      *dies
	m      map[uint64]variable
	root   *dwarf.Entry
	scopes []string // of the entries that are open
}

// unit collects the variables of one unit, also those in namespaces and functions.
func (c *variableCollector) unit(root dwarf.Offset) error {
	e, err := c.d.at(root)
	if err != nil || !e.Children {
		return nil // a unit that cannot be read has no variables
	}
	c.root, c.scopes = e, []string{""}
	for len(c.scopes) > 0 && len(c.m) < maxVariables {
		e, err := c.d.next()
		if err != nil {
			return err
		}
		if err := c.entry(e); err != nil {
			return err
		}
	}
	return nil
}

func (c *variableCollector) entry(e *dwarf.Entry) error {
	scope := ""
	if len(c.scopes) > 0 {
		scope = c.scopes[len(c.scopes)-1]
	}
	switch e.Tag {
	case 0:
		c.scopes = c.scopes[:len(c.scopes)-1]
		return nil
	case dwarf.TagVariable:
		if addr := c.address(e); addr != 0 {
			c.m[addr] = variable{e.Offset, scope}
		}
	case dwarf.TagSubprogram:
		if name := nameOf(e); name != "" {
			scope = name
		}
	}
	switch {
	case !e.Children:
	case e.Tag == dwarf.TagNamespace, e.Tag == dwarf.TagSubprogram, e.Tag == dwarf.TagLexDwarfBlock, e.Tag == dwarf.TagTryDwarfBlock:
		if len(c.scopes) > 1<<10 {
			return errManyEntries
		}
		c.scopes = append(c.scopes, scope)
	default:
		return c.d.skip(e)
	}
	return nil
}

// Operations that give a fixed address.
const (
	opAddr  = 0x03
	opAddrx = 0xa1
)

// address is the fixed address of a variable, 0 if it has none.
func (c *variableCollector) address(e *dwarf.Entry) uint64 {
	expr, _ := e.Val(dwarf.AttrLocation).([]byte)
	r := reader{b: expr}
	var addr uint64
	switch r.u8() {
	case opAddr:
		addr = r.uint(8)
	case opAddrx:
		l := lister{x: c.x, u: &unit{entry: c.root}}
		addr = l.indexed(r.uleb())
	}
	if r.bad || len(r.b) > 0 {
		return 0
	}
	return addr
}

// typed is the type of a variable, and its name in the source: those of its declaration where it has none itself.
func (d *dies) typed(off dwarf.Offset) (name string, t ctype, err error) {
	chain, err := d.chain(off)
	ref := &typeRef{none: true}
	for _, e := range chain {
		if name == "" {
			name = nameOf(e)
		}
		if ref.none {
			ref = typeRefOf(e)
		}
	}
	if err != nil {
		return name, t, err
	}
	t, err = d.resolve(ref)
	return name, t, err
}

// described is what DWARF says of the variable at an address: its function and name, and its type.
//
// As with modules, a debug file that lies beside a stripped object does not count.
func (o *Object) described(addr uint64) (d *dies, scope, name string, t ctype, ok bool) {
	if o.section(".debug_info") == nil {
		return nil, "", "", t, false
	}
	x := o.unitIndex()
	if x.from == nil {
		return nil, "", "", t, false
	}
	all, _ := x.variablesOf() // of a damaged file those before the damage
	v, ok := all[addr]
	data := x.data()
	if !ok || data == nil {
		return nil, "", "", t, false
	}
	d = &dies{x: x, r: data.Reader(), left: maxEntries}
	name, t, err := d.typed(v.entry)
	return d, v.scope, name, t, err == nil
}

// numbered matches what compilers call variables that are static in a function of C: lock.0.
var numbered = regexp.MustCompile(`^(.+)\.[0-9]+$`)

// A Part is a variable or a named part of one.
type Part struct {
	Name string // "lock", "cache.lock", "shards[3].lock", "serve::lock" for one that is static in a function of C
	Rest uint64 // bytes from its beginning to the address that was asked for
	Lock bool   // its type is one of the locks of C, C++ and Rust, whose insides have no names
}

// PartAt finds the variable, or the smallest part of it that has a name, that covers a file virtual address. ok is false where no
// symbol covers it.
func (o *Object) PartAt(vaddr uint64) (p Part, ok bool) {
	s, ok := o.DataAt(vaddr)
	if !ok {
		return p, false
	}
	var err error
	defer guard(&err, o.name)
	p = Part{Name: s.Name, Rest: vaddr - s.Addr}
	d, scope, own, t, described := o.described(s.Addr)
	if !described {
		return p, true
	}
	if numbered.MatchString(p.Name) && scope != "" && own != "" {
		p.Name = scope + "::" + own
	}
	path, rest, lock := d.path(t, int64(p.Rest))
	return Part{p.Name + path, uint64(rest), lock}, true
}

// PartNamed is the file virtual address of what PartAt gives a name to.
func (o *Object) PartNamed(name string) (vaddr uint64, ok bool) {
	if s, ok := o.DataNamed(name); ok {
		return s.Addr, true
	}
	var err error
	defer guard(&err, o.name)
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '.' && name[i] != '[' {
			continue
		}
		if at, ok := o.variableNamed(name[:i]); ok {
			return o.partOf(at, name[i:])
		}
	}
	return o.variableNamed(name)
}

// variableNamed is the address of a whole variable.
func (o *Object) variableNamed(name string) (uint64, bool) {
	if s, ok := o.DataNamed(name); ok {
		return s.Addr, true
	}
	scope, own, ok := strings.Cut(name, "::")
	if !ok {
		return 0, false
	}
	for _, d := range o.dataSymbols() {
		if m := numbered.FindStringSubmatch(d.Name); m == nil || m[1] != own {
			continue
		}
		if _, in, n, _, ok := o.described(d.Addr); ok && in == scope && n == own {
			return d.Addr, true
		}
	}
	return 0, false
}

// partOf is the address of a part of the variable at an address.
func (o *Object) partOf(addr uint64, path string) (uint64, bool) {
	d, _, _, t, ok := o.described(addr)
	if !ok {
		return 0, false
	}
	off, err := d.follow(t, path)
	return addr + uint64(off), err == nil
}
