package testprog

import (
	"bytes"
	"encoding/binary"
)

// dwarfOf makes the three sections that a unit needs at least.
type dwarfOf struct {
	info, abbrev, line []byte
	more               []Section
}

func (d *dwarfOf) sections() []Section {
	list := []Section{{Name: ".debug_info", Data: d.info}, {Name: ".debug_abbrev", Data: d.abbrev}}
	if d.line != nil {
		list = append(list, Section{Name: ".debug_line", Data: d.line})
	}
	for _, n := range []string{".debug_str", ".debug_line_str", ".debug_rnglists", ".debug_ranges"} {
		list = append(list, Section{Name: n, Data: []byte{0}})
	}
	return append(list, d.more...)
}

// unit4 adds a unit of DWARF 4 with the table of attributes at an offset.
func (d *dwarfOf) unit4(abbrev uint32, entries []byte) {
	le := binary.LittleEndian
	d.info = le.AppendUint32(d.info, uint32(7+len(entries)))
	d.info = le.AppendUint16(d.info, 4)
	d.info = le.AppendUint32(d.info, abbrev)
	d.info = append(append(d.info, 8), entries...)
}

const (
	atName, atStmtList, atLowpc, atHighpc, atSibling = 0x03, 0x10, 0x11, 0x12, 0x01
	tagUnit, tagVariable, tagSpace                   = 0x11, 0x34, 0x39
	fAddr, fData8, fString, fSecOffset, fRef4        = 0x01, 0x07, 0x08, 0x17, 0x13
)

// root is the entry of a unit, by the first attributes of wholeUnit, that covers all addresses.
func root(name string, line uint32) []byte {
	b := append([]byte{1}, name...)
	b = binary.LittleEndian.AppendUint64(append(b, 0), 1)
	b = binary.LittleEndian.AppendUint64(b, 1<<40)
	return binary.LittleEndian.AppendUint32(b, line)
}

var wholeUnit = []byte{1, tagUnit, 1, atName, fString, atLowpc, fAddr, atHighpc, fData8, atStmtList, fSecOffset, 0, 0}

// longString is a string without an end for a while.
func longString(n int) []byte { return append(bytes.Repeat([]byte{'x'}, n), 0) }

// Hostile are sections that claim too much, by what they do to whoever believes them.
func Hostile() map[string][]Section {
	le := binary.LittleEndian
	all := map[string][]Section{}

	// Very many function symbols whose names are each all of a table without a zero.
	all["long names"] = functionSymbols(longString(8<<20), 600_000, 1)

	// Names that take long to be made readable.
	one := append([]byte("_Z1f"), bytes.Repeat([]byte{'P'}, 3000)...)
	one = append(one, 'i', 0)
	all["mangled names"] = functionSymbols(bytes.Repeat(one, 4000), 4000, len(one))

	// A line table of a hundred bytes with 2^34 directories.
	head := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}
	head = append(head, 0) // no formats
	head = append(head, 0x80, 0x80, 0x80, 0x80, 0x40)
	line := le.AppendUint16(nil, 5)
	line = append(line, 8, 0)
	line = le.AppendUint32(line, uint32(len(head)))
	line = append(line, head...)
	line = append(le.AppendUint32(nil, uint32(len(line))), line...)
	d := dwarfOf{abbrev: append(bytes.Clone(wholeUnit), 0), line: line}
	d.unit4(0, append(root("<artificial>", 0), 0))
	all["directories"] = d.sections()

	// Thousands of units with one line table of millions of rows, which is looked at for every function.
	head = []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'a', 0, 0, 0, 0, 0}
	line = le.AppendUint16(nil, 4)
	line = le.AppendUint32(line, uint32(len(head)))
	line = append(append(line, head...), bytes.Repeat([]byte{1}, 5<<20)...)
	line = append(le.AppendUint32(nil, uint32(len(line))), line...)
	d = dwarfOf{abbrev: append(bytes.Clone(wholeUnit), 0), line: line}
	for i := range 2000 {
		r := root("<artificial>", 0)
		le.PutUint64(r[len(r)-20:], 0x1000+uint64(i)*8)
		le.PutUint64(r[len(r)-12:], 8)
		d.unit4(0, append(r, 0))
	}
	all["rows"] = d.sections()

	// Entries within entries, a million deep, whose siblings are said to lie before them.
	d = dwarfOf{abbrev: append(append(bytes.Clone(wholeUnit), 2, tagVariable, 1, atSibling, fRef4, 0, 0), 0)}
	d.unit4(0, append(root("deep.c", 0), bytes.Repeat([]byte{2, 1, 0, 0, 0}, 4<<20)...))
	all["depth"] = d.sections()

	// A table of attributes for each of many units, each of which goes to the end of the section.
	table := []byte{}
	for i := range 100_000 {
		table = append(table, byte(i)|0x80, byte(i>>7)|0x80, byte(i>>14)+1, tagVariable, 0, 0, 0)
	}
	d = dwarfOf{abbrev: append(table, 0)}
	for i := range 20_000 {
		d.unit4(uint32(i*7), []byte{0})
	}
	all["tables"] = d.sections()

	// An entry with a million attributes that take no room.
	d = dwarfOf{abbrev: append(append([]byte{1, tagUnit, 1}, bytes.Repeat([]byte{atName, 0x19}, 1<<20)...), 0, 0, 0)}
	for range 20_000 {
		d.unit4(0, []byte{1, 0})
	}
	all["attributes"] = d.sections()

	// Names that are all of a section without a zero.
	d = dwarfOf{abbrev: append([]byte{1, tagUnit, 1}, bytes.Repeat([]byte{atName, 0x0e}, 500)...), more: []Section{{Name: ".debug_str", Data: longString(4 << 20)}}}
	d.abbrev = append(d.abbrev, 0, 0, 0)
	for range 2000 {
		d.unit4(0, append(append([]byte{1}, make([]byte, 4*500)...), 0))
	}
	all["strings"] = d.sections()
	return all
}

// functionSymbols is a table of symbols whose names begin so many bytes apart in strs. The program has code where they are.
func functionSymbols(strs []byte, n, apart int) []Section {
	le := binary.LittleEndian
	syms := make([]byte, symbolSize)
	for i := range n {
		y := make([]byte, symbolSize)
		le.PutUint32(y, uint32(i*apart))
		y[4], y[6] = 0x12, 14
		le.PutUint64(y[8:], 0x1000+uint64(i)%0x300)
		le.PutUint64(y[16:], 1<<20)
		syms = append(syms, y...)
	}
	return []Section{{Name: ".strtab", Type: StrTab, Data: strs}, {Name: ".symtab", Type: SymTab, Link: ".strtab", Data: syms}}
}

const symbolSize = 24 // sizeof(Elf64_Sym)
