// Package selfcost decides how much CPU time culprit itself may use now, and how often values are read.
//
// While some CPU is idle, what culprit uses costs nobody anything. While all CPUs are busy, every second of culprit is one that the targets
// lack, and more than one. Then everything that culprit takes (its own CPU time, that of probes, that of programs in the kernel) must stay
// below the budget's share of the machine. What can wait is postponed until then.
//
// It imports daemon/kernel and nothing else of the house. It starts no goroutine and reads no clock: callers pass the time. An Allowance may be
// used from any goroutine and its lock is a leaf; an Interval belongs to one goroutine.
package selfcost
