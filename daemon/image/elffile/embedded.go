package elffile

import (
	"bytes"
	"fmt"
)

// What an embedded table of names may take. Those of distributions have some hundred kilobytes; that of a browser has 10 MB.
const (
	maxEmbedded         = 32 << 20 // in the file
	maxEmbeddedExpanded = 128 << 20
)

// embedded is the object that lies compressed in .gnu_debugdata; nil if there is none, or none that fits. It has the names of functions that
// are not exported (gdb manual, "Debugging information in a special section"), and no DWARF.
func (f *File) embedded() *File {
	s := f.Section(".gnu_debugdata")
	if s == nil || f.Section(".symtab") != nil {
		return nil
	}
	d, err := f.expandEmbedded(s)
	if err != nil {
		f.LeftOut("the names in .gnu_debugdata of %s were not used: %v", f.name, err)
		return nil
	}
	d.OnLeftOut(func(text string) { f.LeftOut("%s", text) })
	return d
}

func (f *File) expandEmbedded(s *Section) (*File, error) {
	if s.FileSize > maxEmbedded {
		return nil, fmt.Errorf("it has %d bytes, and %d are read at most", s.FileSize, maxEmbedded)
	}
	blocks, size, err := xzBlocks(s.Bytes())
	if err != nil {
		return nil, err
	}
	// The dictionary of the decoder is at most as large as what is expanded.
	if size > maxEmbeddedExpanded || size > maxExpansionSmall*s.FileSize && size > smallSection || !f.share.take(int64(2*size)) {
		return nil, fmt.Errorf("it would expand from %d bytes to %d", s.FileSize, size)
	}
	b, err := expandXZ(blocks, size)
	if err != nil {
		return nil, err
	}
	d, err := openFile(bytes.NewReader(b), int64(len(b)), f.name, false)
	if err == nil && d.buildID != "" && d.buildID != f.buildID {
		err = fmt.Errorf("its build-id is another one")
	}
	return d, err
}
