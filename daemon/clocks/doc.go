// Package clocks chooses by which clock the probes of a pair time CPU time: they read per-thread statistics that the kernel keeps of the target
// (package targetstats), which takes something wherever a thread is switched, or they call clock_gettime, which takes more in each probe.
//
// It knows which pairs call clock_gettime, and what the statistics take of all targets together. It must not know how code gets into a target, or
// what else is measured there.
//
// Goroutines: what Choose and Ask note is changed by one goroutine at a time, while nobody else uses the Choice; what is asked about one target is
// asked by who may use that target. It asks of the others only what any goroutine may.
package clocks
