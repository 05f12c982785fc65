package types

import (
	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
)

// A TypeInfo answers questions about types, arguments and variables of one file.
type Info struct {
	file  *elffile.File
	dwarf *debuginfo.Info

	subprograms subprogramCache
	locations   lazy.Value[map[string][]byte]
	defined     lazy.Value[definitions]
	fixed       lazy.Value[map[uint64]variable]
}

// New is what the debug information of a file says of types. It is read when it is first asked for.
func New(file *elffile.File, dwarf *debuginfo.Info) *Info {
	return &Info{file: file, dwarf: dwarf}
}

// A Func is a function as symbols describe it.
type Func struct {
	Name    string // for people
	Linkage string // symbol name without version, "" if there is none
	Addr    uint64 // first byte
}

// lists are the sections with location lists, read when they are first needed.
func (x *Info) lists() map[string][]byte {
	m, _ := x.locations.Get("locations", func() (map[string][]byte, error) {
		return x.dwarf.Units().More(".debug_loc", ".debug_loclists"), nil
	})
	return m
}

// lister reads locations that hold at the address entry of a unit.
func (x *Info) lister(u *debuginfo.Unit, entry uint64) *lister {
	return &lister{root: u.Entry, addrs: x.dwarf.Units().Section(".debug_addr"), entry: entry, lists: x.lists(), v5: x.dwarf.Units().Version(u.Entry.Offset) >= 5}
}
