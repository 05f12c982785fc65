// Package clocks chooses by which clock the probes of a pair time CPU time: they read per-thread statistics that the kernel keeps of the target
// (package targetstats), which takes something wherever a thread is switched, or they call clock_gettime, which takes more in each probe.
//
// It knows which pairs call clock_gettime, and what the statistics take of all targets together. It must not know how code gets into a target, or
// what else is measured there.
//
// Goroutines: a Choice is for one goroutine at a time, the one that may use the targets.
package clocks
