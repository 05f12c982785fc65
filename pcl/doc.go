// Package pcl is the language in which metrics, constraints and hypotheses are written: it loads texts (the library in lib
// first), checks them, and compiles a metric at a focus to a Plan, which says in terms of functions, points,
// primitives and guards what must be counted. It also holds the hypotheses, tunable constants and the rest of what texts
// define.
//
// It imports grid only: nothing of ptrace, machine code, files of a target or the search is known here. What it must
// know about a target it asks an Env.
//
// A Library is safe for use by any goroutine: after Load only the values of tunable constants change, under a lock.
// Compile is a pure function of the library, its arguments and the answers of the Env; the same input gives the same Plan.
package pcl
