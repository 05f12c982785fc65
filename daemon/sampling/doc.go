// Package sampling takes stack samples of a target and keeps what they say lately: which functions are on the stacks of threads that run, and
// of threads that wait; who calls whom; which locks and files threads wait for, and who has those locks.
//
// It gives the search its order, resolves indirect calls by what they were seen to call, and judges what is too hot to be timed. Samples come
// from perf_event for threads that run and from /proc for threads that are blocked; nobody is stopped. Others may be given each sample
// (Receiver), as package estimate is, which makes times of them.
//
// It must not import package daemon, package estimate, or anything that puts probes into a target. A Profile is for one goroutine at a time, the
// one that uses the target's program. Its Counts have a lock of their own, under which nothing else is locked but the thread table.
package sampling
