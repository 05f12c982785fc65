// Package kernel reads what Linux knows about a running process without stopping or changing it: the scheduler's
// accounting per thread, the system call in which a thread is blocked, what a descriptor refers to, samples of
// registers and stacks, counts of perf's events, the processors and their time-stamp counter.
//
// Stacks are sampled by perf, or by programs of the kernel (eBPF) that throw away what is of other processes.
//
// It imports nothing of the house, calls no ptrace and writes to no other process. What it returns comes from the target
// (names, paths, stack bytes) and is bounded but not escaped: whoever shows it must escape it.
//
// Package-level functions may be called from any goroutine. A ThreadTable, a Sampler or an EventCount belongs to one goroutine at
// a time; a TSCClock may be shared.
package kernel
