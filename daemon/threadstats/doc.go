// Package threadstats keeps per-thread statistics of a process by eBPF: time off the CPU and why, waits for a CPU, context switches,
// faults, system calls. They lie in memory that the daemon, and the process itself, read with a plain load.
//
// A [Keeper] has the eBPF programs that the kernel runs at context switches. They are assembled here, loaded once for all
// processes, and attached while somebody needs the statistics. A [Table] is one process: an array of entries ([RowSize] bytes each),
// one for each thread, found by the thread pointer (the base address of FS), with one word for each [Quantity]. The kernel side
// makes an entry when it first meets a thread, switches to it or wakes it; nobody registers threads. An entry outlives its thread:
// C libraries reuse thread pointers, and a new thread with the pointer of one that ended continues in its entry. Sums only grow,
// until [Table.Free].
//
// Everything is held by descriptors and nothing is pinned. If the process that has the Keeper is killed, the kernel removes
// programs, links and maps.
//
// The package imports nothing of the project. All methods may be called from any goroutine; Close must come last. A target maps
// its entries for reading. A target that writes to them through a second mapping spoils its own figures and nothing else: indexes
// and sums are only numbers here.
package threadstats
