package image

import "culprit/daemon/image/elffile"

// Prepare makes what a walk through the stacks of stopped threads needs of the object: where its frames are described.
func (o *Object) Prepare() {
	o.frames.Prepare()
}

// PrepareFunctions makes FunctionAt answer at once.
func (o *Object) PrepareFunctions() {
	o.functions()
	o.xref()
}

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
	o.PrepareFunctions()
	o.modules()
}

// CarriesDebug reports whether debug information is in the object's own file.
func (o *Object) CarriesDebug() bool { return o.elf.Section(".debug_info") != nil }
