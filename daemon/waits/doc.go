// Package waits says what a blocked thread waits for: which lock or file, by the system call that it is in and by its stack.
//
// A lock is named by the variable that it is or lies in ("cache.lock", "shards[3]"), or by what leads to it on a stack ("Queue.lock 0x55d0").
// What is found is told to the tables of the target, which keep the names (package locks, package openfiles).
//
// It must not know how threads come to be looked at, or what is made of that. Its functions are for the goroutine that uses the target's
// program.
package waits
