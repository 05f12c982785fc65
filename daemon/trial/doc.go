// Package trial prices probes: it makes their trampolines for a small function of its own, in memory of this process, runs both
// and tells what the probes add. What a probe costs depends on the machine and on what it does; a table would be right for one
// processor and for the probes that its author has thought of.
//
// The function waits for nothing, so that nothing hides the probes: in a program that waits for memory they cost less.
package trial
