// Package remote has a thread of a stopped process make system calls for us: it maps and unmaps memory there, closes descriptors, and passes
// descriptors to it. Nothing is written to text; if we are killed at any instant the thread completes its call and goes on by itself.
//
// It imports nothing of the house but daemon/process/raw, daemon/process/resume and internal/fault. A Caller is used on the goroutine that owns
// ptrace for the process, in one stop. It has no locks but that of our own limit of the stack.
package remote
