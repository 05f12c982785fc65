// Package raw asks the kernel about one process: it reads and writes its memory, lists its mappings and tasks, reads what limits it, and makes
// ptrace requests for one thread at a time. It decides nothing: what is done in which order, and what is done when it fails, is for the
// packages above.
//
// It imports nothing of the house but internal/procfs and internal/safetext, and only daemon/process and what lies below that may import it.
// Requests of ptrace must be made on the OS thread that seized the thread in question; all else may be called from any goroutine.
// It has no locks.
package raw
