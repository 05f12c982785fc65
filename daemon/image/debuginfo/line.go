package debuginfo

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"sort"
	"sync"
)

// Bounds of the line tables: rows of one unit, rows of all tables that are kept (24 bytes each), and rows that are ever read of an
// object, some seconds' worth: many units may have one table, and be asked for in turn.
const (
	maxUnitRows = 4 << 20
	maxKeptRows = 8 << 20
	maxReadRows = 64 << 20
)

// Line gives the source position of the code at vaddr; ok is false where DWARF does not say. For a return address ask for the
// byte before it. The line table of a compile unit is read at the first question about it.
func (n *Info) Line(vaddr uint64) (file string, line int, ok bool) {
	return n.position(vaddr, (*lineTable).find)
}

// Start is Line of the code that a function begins with: what is inlined there, at the same address, comes behind the function itself.
func (n *Info) Start(vaddr uint64) (file string, line int, ok bool) {
	return n.position(vaddr, (*lineTable).start)
}

func (n *Info) position(vaddr uint64, find func(*lineTable, uint64) *lineRow) (file string, line int, ok bool) {
	x := n.Units()
	u := x.At(vaddr)
	if u == nil {
		return "", 0, false
	}
	t := n.lines.table(x, u)
	r := find(t, vaddr)
	if r == nil || r.line <= 0 {
		return "", 0, false
	}
	return t.files[r.file], int(r.line), true
}

// A lineRow says where the code from addr on comes from, up to the next row.
type lineRow struct {
	addr uint64
	file int32
	line int32
	end  bool // the sequence ends before addr
	stmt bool // a good place for the line: what the compiler moved elsewhere is not
}

type lineTable struct {
	rows  []lineRow // sorted by addr
	files []string
}

func (t *lineTable) find(addr uint64) *lineRow {
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].addr > addr }) - 1
	if i < 0 || t.rows[i].end {
		return nil
	}
	return &t.rows[i]
}

// start is the first row at an address, where there are several.
func (t *lineTable) start(addr uint64) *lineRow {
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].addr >= addr })
	for ; i < len(t.rows) && t.rows[i].addr == addr; i++ {
		if !t.rows[i].end {
			return &t.rows[i]
		}
	}
	return t.find(addr)
}

// lineCache keeps line tables by unit. When it holds too much it forgets everything: reading again is cheap, within maxReadRows.
type lineCache struct {
	mu     sync.Mutex
	tables map[dwarf.Offset]*lineTable
	rows   int
	read   int // rows that were ever read
}

func (c *lineCache) table(x *Units, u *Unit) *lineTable {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tables[u.Entry.Offset]; t != nil {
		return t
	}
	t := &lineTable{}
	if x.data() != nil && c.read < maxReadRows && x.from.Ended() == nil {
		t = runLines(x.sections, u.Entry)
	}
	if c.tables == nil || c.rows > maxKeptRows {
		c.tables, c.rows = map[dwarf.Offset]*lineTable{}, 0
	}
	c.tables[u.Entry.Offset] = t
	c.rows += len(t.rows)
	if c.read += len(t.rows) + 1; c.read >= maxReadRows && x.from != nil {
		x.from.LeftOut("some lines of %s are not known: %d entries of its line tables were read", x.from.Name(), maxReadRows)
	}
	return t
}

// sort orders rows by address; where one sequence ends and another begins at the same address, the beginning comes last.
func (t *lineTable) sort() {
	order := func(a, b lineRow) int {
		if a.addr != b.addr {
			return cmp.Compare(a.addr, b.addr)
		}
		switch {
		case a.end && !b.end:
			return -1
		case b.end && !a.end:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(t.rows, order) {
		slices.SortStableFunc(t.rows, order)
	}
}
