package image

import "culprit/daemon/image/elffile"

// Symbols is how many symbols the tables of the object have, without reading them.
func (o *Object) Symbols() (n int) {
	_ = o.eachTable(func(_ *elffile.File, s *elffile.Section) error {
		n += int(min(s.Size, maxSymbols*symSize) / symSize)
		return nil
	})
	return n
}

// ReadAhead makes what the first question for a function would wait for: the list of functions, and how they are reached.
func (o *Object) ReadAhead() {
	o.functions()
	o.modules()
	o.xref()
}
