// Package stack walks the stack of a thread that is stopped, blocked, or was sampled: which functions are active on it, and where they go on.
//
// Tables of the files say how to come from an activation to its caller. Where they ask for a register that is not known the caller is guessed
// (guess.go); functions that have ended in a jump are put back for those who ask (TailCalls). A Walk of a stopped thread also says which
// addresses a thread may go on at, and how far that is certain: with it others decide whether code may change.
//
// Where probes lead a thread is told by Detours: this package knows nothing of trampolines. It must not import grid, trampoline or anything that
// patches or measures. A Walker is for the goroutine that uses its Program. In a stop nothing is decoded or read from a file.
package stack
