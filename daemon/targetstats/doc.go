// Package targetstats has the kernel keep statistics for each thread of a target (package threadstats), and maps them into a target with
// probes, which reads them with a load instruction. Programs is the kernel's side, which all targets share; a Table is the side of one target.
// Both are made ready when something first asks for them: to load the programs takes a few tens of milliseconds, to map a table takes a stop.
//
// It must not know which pairs are measured, nor what a plan reads beyond the name of its quantity. A Table has no lock of its own, and is used by
// one goroutine at a time, but for IsKept; Programs may be used by any.
package targetstats
