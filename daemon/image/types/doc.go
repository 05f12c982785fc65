// Package types answers questions about types and variables of one ELF file by its DWARF: where an argument of a function is at its first
// instruction and what it leads to, what a function returns, what a variable and its parts are called, and which variable on a stack leads to
// an address. Where arguments are passed follows the System V ABI, and is held against what DWARF tells.
//
// It imports nothing of the house but daemon/image/lazy, elffile, unwind (to run expressions) and debuginfo. Functions come as plain Func
// values: symbols are the caller's. All methods of an Info may be called from any goroutine; locks are held only while a cache is read or filled.
package types
