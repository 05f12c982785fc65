// Package syscalls learns from eBPF about the system calls that a stop interrupts, and what threads have forbidden themselves.
//
// Deadlines tell when a wait would have ended. A thread that waits for a limited time has a timer of high resolution. When
// something else wakes the thread, it cancels the timer, and only in that moment can the timer be read.
//
// Transfers tell which threads move large pieces of data and which sleep within calls, and stop a thread where its call is over. A stop in the middle
// of a transfer would make it return a part, and a stop in the middle of a wait would make it begin anew.
//
// Modes tell whether some thread must not come to code that reads the time-stamp counter or makes system calls.
//
// The eBPF programs are attached while somebody asks, which is around stops, and they end with this process, however it ends. The
// package imports nothing of the project. Everything may be called from any goroutine.
package syscalls
