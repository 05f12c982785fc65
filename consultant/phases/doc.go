// Package phases finds the phases of a program in its metrics, as IPS-2 did (Miller et al., IEEE TPDS 1(2), 1990, section V.B): each metric is smoothed,
// its boundary curve is its slope times the height of its step, the curves of all metrics are summed, and a phase ends at a peak of the sum. IPS-2 left the
// threshold to the user. Here it follows from how much the phase has varied so far, and what is new must last for a while. What a program does again and
// again is one phase: it repeats itself.
//
// It is pure: no clock, no lock, no randomness; the same input gives the same answer. It imports nothing of the house. A Detector belongs to one goroutine
// at a time. Its memory does not grow, and a reading takes the same time however long the session is.
package phases
