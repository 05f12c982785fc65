// Package image is a read-only view of one ELF object: its functions, their code and flow of control, and what its packages below say of
// them. It answers "what is where" about a file; it knows no process, no ptrace and no reason why something is measured.
//
// An Object puts together: elffile (headers and sections), unwind (call frames, landing pads), debuginfo (units, lines, inlined functions) and
// types (arguments, results, variables). What is expensive (relocations, the pass over all code, tables of symbols) is made on first use and
// kept, never while a target stands still (lazy).
//
// All addresses are virtual addresses of the file, as the ELF says; the caller adds the load bias. Nothing in a file is trusted: damaged or
// hostile contents give errors, never a panic, and memory stays within the allowance of elffile.
//
// It may import the packages below it and trampoline/x86 (to decode) and must not import daemon/process, pcl, consultant or cmd.
// All methods of an Object may be called from any goroutine. Its locks (of flows, of variables) are leaves: nothing else is locked under them
// but what lazy computes.
package image
