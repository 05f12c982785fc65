// Package kernel reads what Linux knows about a running process, without stopping or changing it: the scheduler's accounting of
// each thread, the system call in which a thread is blocked, what a descriptor refers to, samples of registers and stacks, counts
// of perf events, the CPUs and their time-stamp counter.
//
// Stacks are sampled by perf, or by eBPF programs that discard samples of other processes in the kernel.
//
// It imports nothing of the project, calls no ptrace and writes to no other process. Its results come from the target (names,
// paths, stack bytes). They are bounded but not escaped: whoever shows them must escape them.
//
// Functions may be called from any goroutine. A ThreadTable, a Sampler or an EventCount belongs to one goroutine at a time; a
// TSCClock may be shared.
package kernel
