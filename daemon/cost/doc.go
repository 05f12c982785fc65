// Package cost says what measuring costs the targets: how often functions are called (Rates), what a pair would therefore take (Add),
// what per-thread statistics take and when it is cheaper to do without them, and what all pairs were seen to take (Observed).
//
// It must not know which pairs there are, nor read or change a target's memory: whoever counts something hands the figures in.
//
// Observed has a lock of its own, which is held while it computes and never while it calls anybody; any goroutine may use it. Rates have none:
// whoever owns them has one.
package cost
