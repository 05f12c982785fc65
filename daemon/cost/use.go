package cost

import "culprit/pcl"

// A Use is what the probes of one pair take of one target. Those that keep up with what descriptors stand for are counted and priced apart: what
// is opened is compared with a path, by a system call, and reads and writes are many more than opens.
type Use struct {
	CPUs float64 // that the probes took between the last two counts

	priced         bool
	each, followed line
}

// A line is what one sort of probes takes.
type line struct {
	count uint64  // of executions
	ns    float64 // that the budget takes for one
}

// spent is the ns of what has been executed since the last count.
func (l *line) spent(count uint64) float64 {
	n := count - l.count
	l.count = count
	return float64(n) * l.ns
}

// Begin takes the counts from which executions are counted, and forgets the price.
func (u *Use) Begin(each, followed uint64) {
	u.priced, u.each, u.followed = false, line{count: each}, line{count: followed}
}

// Priced tells whether the price is known. It is not before a first interval has passed: those who wait for many pairs must not wait for their
// prices.
func (u *Use) Priced() bool { return u.priced }

// Price asks for the price of a plan, with stats if its timers read per-thread statistics.
func (u *Use) Price(x *Executions, plan *pcl.Plan, stats bool) {
	u.priced = true
	u.each.ns = x.Average(plan, stats) * InProgram(plan)
	u.followed.ns = x.averageOf(plan, true, stats)
}

// Peek is how many CPUs the probes took up to now, in an interval that a later Count counts as well.
func (u *Use) Peek(each uint64, interval float64) float64 {
	return float64(each-u.each.count) * u.each.ns / 1e9 / interval
}

// Count takes the counts at the end of an interval, in seconds, more than 0.
func (u *Use) Count(each, followed uint64, interval float64) {
	u.CPUs = (u.each.spent(each) + u.followed.spent(followed)) / 1e9 / interval
}
