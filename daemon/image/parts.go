package image

import (
	"regexp"
	"strings"

	"culprit/daemon/image/lazy"
)

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
	defer lazy.Guard(&err, o.elf.Name())
	p = Part{Name: s.Name, Rest: vaddr - s.Addr}
	v, described := o.types.Variable(s.Addr)
	if !described {
		return p, true
	}
	if numbered.MatchString(p.Name) && v.Scope != "" && v.Name != "" {
		p.Name = v.Scope + "::" + v.Name
	}
	path, rest, lock := v.Path(int64(p.Rest))
	return Part{p.Name + path, uint64(rest), lock}, true
}

// PartNamed is the file virtual address of what PartAt gives a name to.
func (o *Object) PartNamed(name string) (vaddr uint64, ok bool) {
	if s, ok := o.DataNamed(name); ok {
		return s.Addr, true
	}
	var err error
	defer lazy.Guard(&err, o.elf.Name())
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
		if v, ok := o.types.Variable(d.Addr); ok && v.Scope == scope && v.Name == own {
			return d.Addr, true
		}
	}
	return 0, false
}

// partOf is the address of a part of the variable at an address.
func (o *Object) partOf(addr uint64, path string) (uint64, bool) {
	v, ok := o.types.Variable(addr)
	if !ok {
		return 0, false
	}
	off, err := v.Follow(path)
	return addr + uint64(off), err == nil
}
