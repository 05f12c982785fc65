// Package arch names what an architecture calls its own, for the rooms of the daemon: registers of a stopped thread, system calls, codes of
// instructions. Another architecture gets its own file here.
//
// It is data and lookups in it, and imports nothing of the house. All of it may be used by several goroutines.
package arch
