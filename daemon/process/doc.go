// Package process is the tool's hand on one running x86-64 Linux process: it opens it (and says precisely why it may not),
// reads and writes its memory, stops the world for a moment, changes text while it is stopped, and makes system calls inside it.
// It is the only package of the house that calls ptrace.
//
// Package raw below it asks the kernel, resume goes on with calls that stops break into, remote makes system calls in the target; this package
// keeps the order in which threads are attached, stopped and let go.
//
// It knows nothing of machine code, symbols or measurements and imports nothing of the house but internal/safetext and internal/fault.
//
// What it keeps: the target is traced only within Stop; a thread interrupted in a system call repeats it as if nothing had happened
// (no EINTR that an undisturbed run lacks), and one with a timeout ends in its time or soon behind it; signals that arrive meanwhile are
// delivered once; a job-control stop stays one; and if this process is killed at any instant, the target goes on by itself, an injected system call included.
// A thread that sleeps within a wait or a blocking transfer is left in it: it stops where the call is over. What it cannot keep: where the kernel does
// not help, such a transfer returns early with the short count.
//
// Goroutines: every method of Process may be called from any goroutine. All ptrace requests of one Process are made by one goroutine that is
// locked to its OS thread; the function given to Stop runs on it, must not call Stop or Close of the same Process, and methods of World
// may be called only from within that function.
//
// A target that is a child of this very process: do not wait for it (exec.Cmd.Wait) before Done is closed; the kernel would report ptrace stops to that wait.
package process
