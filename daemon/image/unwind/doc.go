// Package unwind reads the call frame information of one ELF file (.eh_frame, .debug_frame) and the tables of landing pads, and goes from one
// frame of a stack to its caller.
//
// Call frame information is read here and not with delve's pkg/dwarf/frame: that parser drops the language-specific data
// (landing pads) and the signal mark, stops at the first entry it does not know, never fills the table from which
// DW_CFA_restore restores (so a restored register reads as undefined), and panics on damaged programs.
//
// It imports nothing of the house but daemon/image/lazy and daemon/image/elffile: memory of the process comes from a function of the caller.
// All methods of a Table may be called from any goroutine; its lock is held only while a row is looked up or kept.
package unwind
