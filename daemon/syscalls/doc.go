// Package syscalls has the kernel tell of system calls that a stop breaks into.
//
// Deadlines: when a wait would have ended. A thread that waits for a limited time has a timer of high resolution; when something else wakes it
// up it cancels the timer, whose time can be read in that moment, and only then.
//
// Transfers: which threads move large pieces of data, and a way to stop such a thread where its call is over. A stop in the midst of one makes
// the call return a part.
//
// The kernel looks while somebody asks, which is around stops. The package imports nothing of the house. The programs that look go with
// this process, however it ends. Everything may be called from any goroutine.
package syscalls
