// Package threads knows the execution units of a process: which threads it has, how they are named, what the kernel accounts to them,
// whether they work, wait for something or have nothing to do, and which of them a thread pointer belongs to.
//
// It reads /proc and the memory of the process and stops nobody. It knows nothing of code: it must not import daemon/image, pcl or what
// patches. What a thread began with is told by whoever has walked its stack.
//
// A Table has one lock, which is the last in every order: nothing else is locked while it is held but the tree of resources. Its methods may be
// called from any goroutine, Refresh and Update from one at a time.
package threads
