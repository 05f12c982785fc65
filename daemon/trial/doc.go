// Package trial is the calibration of prices: it measures what a probe costs. It makes the probe's trampolines for a small
// function in memory of this process, runs the function with and without them, and returns the difference. The cost depends on
// the machine and on what the probe does; a table would be right for one CPU and for the probes that its author knew.
//
// The function waits for nothing, so nothing hides the cost of the probes. In a program that waits for memory they cost less.
package trial
