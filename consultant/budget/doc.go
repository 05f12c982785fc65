// Package budget keeps account of what a search takes of the program that it searches, and says what it may take more. It
// has three limits: the share of the program's time that probes use, the share of the session that the program is paused
// to insert and remove them, and, while CPUs are busy, the CPU time that the search itself uses.
//
// It imports grid only: it knows pairs, not hypotheses, and nothing of the search. A Budget is not safe for several
// goroutines; its owner guards it. It has no clock: every moment is an argument, in s since the session began.
package budget
