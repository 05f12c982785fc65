// Package stops stops all threads of a process for a moment and shows it to those who ask.
//
// A Stopper keeps to a deadline, has registered checks look at the process in each stop before anything is done in it, and tells the
// length of each stop to a log that all processes share. In a stop there is a View: the stack of each thread is read and walked once
// for all who ask. Nothing is built, decoded or read from a file in a stop: what lacks something ends without a change, and is made
// again when what it lacked is there.
//
// Here also stands what a process must be like for trampolines to be right in it (Fit, Sequences), as far as a stop shows it.
//
// It must not know what is measured, what is planned for a function, or what a target is. A Stopper, its View and its checks are for
// one goroutine at a time, which holds no lock that a check takes. Pauses are safe for use by several goroutines.
package stops
