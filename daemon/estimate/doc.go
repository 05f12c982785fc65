// Package estimate makes times of stack samples. How long a thread ran, was ready and was blocked is known from the scheduler; only how that
// divides among functions is estimated, by what samples saw on the thread's stack.
//
// Times shares the times of threads out among their samples. A Meter holds the plan of a timer against each sample, instead of being put into
// the target, and adds up what the samples stand for at which the timer would have run. Any metric that is a timer can be estimated so,
// whoever wrote it; Tells says which plans cannot.
//
// It must not import package daemon, or anything that puts probes into a target. Times, and its Meters, are for one goroutine at a time, the one
// that uses the target's program.
package estimate
