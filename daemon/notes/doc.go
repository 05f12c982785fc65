// Package notes says in words what the value of a pair does not tell of, so that a number that looks right and is not comes with a word:
// calls that are inlined, functions that take no probe, processes that were measured late, and so on.
//
// It is given facts and makes lines. It must not know how probes are placed or values read, and it changes nothing.
//
// It has no lock. Look reads programs, which must not change meanwhile: whoever calls it holds what guards them. Lines reads only what does
// not change, and may be called from any goroutine without a lock; it may take a second, since it reads DWARF.
package notes
