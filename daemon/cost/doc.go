// Package cost says what measuring costs the targets: what one execution of a probe takes (Executions), how often functions are called (Rates),
// what a pair would therefore take (Add) and what it took (Use), what per-thread statistics take and when it is cheaper to do without them
// (Clocks), and what all pairs together were seen to take (Observed).
//
// It must not know which pairs there are, nor read or change a target's memory: whoever counts something hands the figures in.
//
// Executions and Observed have a lock each; any goroutine may use them. Observed holds its own while it computes. Executions hold theirs while they
// try a kind of probe for the first time, which takes milliseconds. Neither calls anybody of the daemon meanwhile. The other types have no lock:
// whoever owns them has one.
package cost
