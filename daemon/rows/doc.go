// Package rows keeps what the kernel knows of each thread of a process, off the processor and why, waits for a processor,
// switches, faults, system calls, in memory that is read with a plain load, by the daemon and by the process itself.
//
// A [Keeper] has the programs that the kernel runs when threads are switched (eBPF, assembled here, loaded once for all processes), as long
// as somebody needs what they keep; a [Table] is one process: rows of [RowSize] bytes, found by the thread pointer (the base address of
// FS), with one word for each [Quantity]. A thread gets its row from the kernel side when it is met, switched, or woken for the first time;
// nobody registers threads. Rows outlive their threads: C libraries use thread pointers again, and a new thread with the pointer of one
// that has ended goes on in its row. Sums only grow, until [Table.Free].
//
// Everything is held by descriptors: nothing is pinned, and when the process that has the Keeper is killed, the kernel takes
// programs, links and maps away.
//
// The package imports nothing of the house. All methods may be called from any goroutine; Close must come last. A target maps
// its rows for reading. One that writes to them nevertheless, through a second mapping, spoils its own figures and nothing else:
// indexes and sums are only numbers here.
package rows
