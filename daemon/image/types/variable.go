package types

import (
	"debug/dwarf"
	"fmt"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
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
func (x *Info) variablesOf() (map[uint64]variable, error) {
	return x.fixed.Get("variables", func() (map[uint64]variable, error) {
		m := map[uint64]variable{}
		d := x.dies(maxSearched)
		if d == nil {
			return m, fmt.Errorf("DWARF is damaged")
		}
		c := variableCollector{addrs: x.dwarf.Units().Section(".debug_addr"), d: d, m: m}
		for _, off := range x.dwarf.Units().Roots() {
			if err := c.unit(off); err != nil {
				return m, err
			}
		}
		return m, nil
	})
}

type variableCollector struct {
	addrs  []byte // .debug_addr
	d      *dies
	m      map[uint64]variable
	root   *dwarf.Entry
	scopes []string // of the entries that are open
}

// unit collects the variables of one unit, also those in namespaces and functions.
func (c *variableCollector) unit(root dwarf.Offset) error {
	e, err := c.d.At(root)
	if err != nil || !e.Children {
		return nil // a unit that cannot be read has no variables
	}
	c.root, c.scopes = e, []string{""}
	for len(c.scopes) > 0 && len(c.m) < maxVariables {
		e, err := c.d.Next()
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
		if name := debuginfo.NameOf(e); name != "" {
			scope = name
		}
	}
	switch {
	case !e.Children:
	case e.Tag == dwarf.TagNamespace, e.Tag == dwarf.TagSubprogram, e.Tag == dwarf.TagLexDwarfBlock, e.Tag == dwarf.TagTryDwarfBlock:
		if len(c.scopes) > 1<<10 {
			return debuginfo.ErrManyEntries
		}
		c.scopes = append(c.scopes, scope)
	default:
		return c.d.Skip(e)
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
	r := elffile.Reader{Rest: expr}
	var addr uint64
	switch r.Byte() {
	case opAddr:
		addr = r.Uint(8)
	case opAddrx:
		l := lister{root: c.root, addrs: c.addrs}
		addr = l.indexed(r.ULEB())
	}
	if r.Bad || len(r.Rest) > 0 {
		return 0
	}
	return addr
}

// typed is the type of a variable, and its name in the source: those of its declaration where it has none itself.
func (d *dies) typed(off dwarf.Offset) (name string, t ctype, err error) {
	chain, err := d.Chain(off)
	ref := &typeRef{none: true}
	for _, e := range chain {
		if name == "" {
			name = debuginfo.NameOf(e)
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

// A Variable is what DWARF says of a variable with a fixed address.
type Variable struct {
	Scope string // the function that it is static in, "" if it is in none
	Name  string // in the source

	d *dies
	t ctype
}

// Variable is what DWARF says of the variable at an address.
//
// As with modules, a debug file that lies beside a stripped object does not count.
func (x *Info) Variable(addr uint64) (v Variable, ok bool) {
	var err error
	defer lazy.Guard(&err, x.file.Name())
	if !x.dwarf.Own() {
		return v, false
	}
	all, _ := x.variablesOf() // of a damaged file those before the damage
	found, there := all[addr]
	d := x.dies(maxEntries)
	if !there || d == nil {
		return v, false
	}
	name, t, err := d.typed(found.entry)
	if err != nil {
		return v, false
	}
	return Variable{Scope: found.scope, Name: name, d: d, t: t}, true
}

// Path names what lies off bytes inside of the variable: ".lock", "[3].lock", "" for all of it. rest is how far inside of what was named it
// is; lock tells that this is a lock of a library.
func (v Variable) Path(off int64) (text string, rest int64, lock bool) { return v.d.path(v.t, off) }

// Follow goes along what Path has written; off is where it leads, in bytes from the variable.
func (v Variable) Follow(text string) (off int64, err error) { return v.d.follow(v.t, text) }
