package debuginfo

import (
	"debug/dwarf"
	"maps"
	"path"
	"slices"
)

// LineAddrs gives the lowest address that the compiler recommends for breakpoints of a source line in every function that has code of it (inlined copies have their own), sorted.
// file is the name, or the end of the path, of a source file with a compile unit of its own or, where there is none, of a header. In optimised code parts of a line may lie
// elsewhere. It is nil where DWARF knows of no code.
// entry gives the address of the function that code belongs to.
func (n *Info) LineAddrs(file string, line int, entry func(addr uint64) (of uint64, ok bool)) []uint64 {
	x := n.Units()
	for _, named := range []bool{true, false} {
		good, any := map[uint64]uint64{}, map[uint64]uint64{}
		for i := range x.units {
			u := &x.units[i]
			if name, _ := u.Entry.Val(dwarf.AttrName).(string); !named || path.Base(name) == path.Base(file) {
				t := n.lines.table(x, u)
				t.lowest(file, line, true, entry, good)
				t.lowest(file, line, false, entry, any)
			}
		}
		for _, found := range []map[uint64]uint64{good, any} {
			if len(found) > 0 {
				return slices.Compact(slices.Sorted(maps.Values(found)))
			}
		}
	}
	return nil
}

// lowest notes the lowest address of a line in each function.
func (t *lineTable) lowest(file string, line int, good bool, entry func(uint64) (uint64, bool), found map[uint64]uint64) {
	for i := range t.rows {
		r := &t.rows[i]
		if r.end || int(r.line) != line || !pathEnds(t.files[r.file], file) || !t.owns(i, good) {
			continue
		}
		f, ok := entry(r.addr)
		if !ok {
			continue
		}
		if at, ok := found[f]; !ok || r.addr < at {
			found[f] = r.addr
		}
	}
}

// owns reports whether the instruction at a row is its line's and, if good is asked for, a good place for it: of the rows at one address the last says
// whose the instruction is, and any that it is good.
func (t *lineTable) owns(i int, good bool) bool {
	r, is := t.rows[i], t.rows[i].stmt || !good
	if i+1 < len(t.rows) && t.rows[i+1].addr == r.addr {
		return false
	}
	for k := i - 1; k >= 0 && t.rows[k].addr == r.addr; k-- {
		is = is || t.rows[k].stmt && t.rows[k].line == r.line && t.rows[k].file == r.file
	}
	return is
}

// pathEnds reports whether the last elements of a path are those of end.
func pathEnds(p, end string) bool {
	n := len(p) - len(end)
	return n >= 0 && p[n:] == end && (n == 0 || p[n-1] == '/')
}
