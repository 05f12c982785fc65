package debuginfo

import (
	"bytes"
	"errors"
	"fmt"

	"culprit/daemon/image/elffile"
)

// debug/dwarf reads all headers of units and all tables of attributes (abbreviations) at once, a table again for each place at which a unit
// says that it begins. What it is given is looked through before.

// Bounds of DWARF. Compilers' entries have some dozens of attributes, and all tables together are as large as the section.
const (
	maxUnits      = 1 << 20
	maxAttributes = 512     // of one kind of entry
	maxUnitRanges = 8 << 20 // ranges of addresses of all units, with the weight of their roots
)

// credible says what is wrong with the headers of units and with their tables of attributes.
func credible(info, abbrev []byte) error {
	tables := map[uint64]bool{}
	units, read := 0, 0
	for r := (elffile.Reader{Rest: info}); len(r.Rest) >= 4; units++ {
		n, wide := r.Uint(4), 4
		if n == 0xffffffff {
			n, wide = r.Uint(8), 8
		}
		u := r.Part(n)
		if u.Bad {
			break // where debug/dwarf ends as well, or says what is wrong
		}
		if version := u.Uint(2); version >= 5 {
			u.Take(2) // kind of unit, size of addresses
		}
		at := u.Uint(wide)
		if units >= maxUnits {
			return fmt.Errorf("it claims more than %d units", maxUnits)
		}
		if u.Bad || tables[at] || at >= uint64(len(abbrev)) {
			continue
		}
		tables[at] = true
		k, err := attributeTable(abbrev[at:])
		if err != nil {
			return err
		}
		if read += k; read > 2*len(abbrev)+1<<16 {
			return errors.New("its tables of attributes lie within each other")
		}
	}
	return nil
}

// attributeTable goes through a table of abbreviations (DWARF 5, section 7.5.3) and gives its size in bytes.
func attributeTable(b []byte) (size int, err error) {
	r := elffile.Reader{Rest: b}
	for !r.Bad && r.ULEB() != 0 {
		r.ULEB()
		r.Byte()
		for n := 0; !r.Bad; n++ {
			attr, form := r.ULEB(), r.ULEB()
			if form == formImplicitConst {
				r.SLEB()
			}
			if attr == 0 && form == 0 {
				break
			}
			if n == maxAttributes {
				return 0, fmt.Errorf("an entry has more than %d attributes", maxAttributes)
			}
		}
	}
	return len(b) - len(r.Rest), nil
}

// formImplicitConst is DW_FORM_implicit_const.
const formImplicitConst = 0x21

// cutStrings ends every string of a section after maxName bytes: debug/dwarf copies a string for each entry that refers to it.
func cutStrings(b []byte) {
	for len(b) > elffile.MaxName {
		i := bytes.IndexByte(b[:elffile.MaxName], 0)
		if i < 0 {
			i = elffile.MaxName - 1
			b[i] = 0
		}
		b = b[i+1:]
	}
}
