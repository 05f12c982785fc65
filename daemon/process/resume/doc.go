// Package resume sees to it that threads go on with the system calls that a stop broke them out of as if nothing had happened: a call is made
// again, one with a timeout ends in its time, and where a filter of system calls would not let the kernel do that, the call that passed
// before is made. It changes the registers of a stop only, which its caller then sets.
//
// It imports nothing of the house but daemon/process/raw. A Calls belongs to one process. Its methods are called on the goroutine that owns
// ptrace for the process, but for KnowDeadlines and ProveSpent (any goroutine, before the first stop) and Learn and LookFirst (the goroutine
// that stops the process). The lock of what is proven of places is held only while they are looked up or noted.
package resume
