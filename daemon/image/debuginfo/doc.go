// Package debuginfo reads what DWARF says of one ELF file, or its separate debug file, as far as it is about code: compile units and their
// modules, source lines, and where functions are inlined. It gives single entries to package types.
//
// Nothing in a file is trusted: what debug/dwarf is given is looked through before, and every loop over entries, rows and names has a bound.
//
// It imports nothing of the house but daemon/image/lazy and daemon/image/elffile; what a function is the caller says. All methods of an
// Info and of Units may be called from any goroutine; an Entries belongs to one. Line tables are read under the lock of their cache.
package debuginfo
