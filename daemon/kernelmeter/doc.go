// Package kernelmeter reads what the kernel keeps of a target anyway: times, page faults, context switches, memory, events that perf counts, and
// per-thread statistics. They need no probe and cost the target nothing. A metric asks for them with "base is kernel(NAME)" or
// "base is hwCounter(NAME)"; Names has the names, which stand in this package and in package threadstats, and nowhere else.
//
// A new value of a process or a thread takes a line in the table of values and a function that reads it, here, and a metric in pcl/lib.
//
// It must not know probes, stack samples, or other targets. It has no lock of its own: the values of all targets are read by one goroutine at a time.
package kernelmeter
