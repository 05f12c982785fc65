// Package measuring is one process while it is measured, and the parts that pairs have in it: the target, its stack samples, its rates of calls, what it
// and its children have used, and what the processes of a session share.
//
// It must not know which pairs there are, nor the other processes of the session.
//
// Each Process has a lock, for all that it has but what any goroutine may ask: its number and names, Ended, Sampled, Facts, and what has a lock of its own
// (Threads, Locks, Files, the counts of Profile). Whoever has it may work for long: only who makes batches does (package batch), and only he may wait for
// a second one. All others take one at a time, and those that must not wait use TryLock. The parts in a process are used under its lock.
package measuring
