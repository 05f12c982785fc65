// Package changes finds out when a program began to behave otherwise, from what hypotheses have said of it in the last minute.
//
// It is pure. Times are session times, in s.
package changes

import (
	"math"
	"slices"

	"culprit/grid/boundaries"
)

const (
	// kept is the time for which readings are kept.
	kept = 60.0
	// width is that of the bins in which curves are compared: as often as values are read at best.
	width = 0.2
	// shortest is how long a phase lasts at least, and how old a change is when it is found.
	shortest = 2.0
	// shortestCycle is how long it takes at least what comes back again and again: where CPUs are busy values are read each second or two, and what a
	// scheduler does in turn looks like a shorter one.
	shortestCycle = 3.0
	// Step is by how much a share changes at least for the program to do something else.
	Step = 0.3
	// around is the time over which a curve is averaged before and after a change.
	around = 5.0
)

// A Curve is what a hypothesis said over the last minute. The zero value is empty.
type Curve struct{ readings []reading }

// A reading is a value of an interval.
type reading struct{ from, to, value float64 }

// Add takes a share of time that is of the interval from one time to another; what is no share is bounded to one.
func (c *Curve) Add(from, to, value float64) {
	if old := slices.IndexFunc(c.readings, func(r reading) bool { return r.to > to-kept }); old > len(c.readings)/2 {
		c.readings = slices.Clone(c.readings[old:])
	}
	c.readings = append(c.readings, reading{from, to, min(max(value, 0), 1)})
}

// Forget drops the readings that end after a time.
func (c *Curve) Forget(after float64) {
	c.readings = slices.DeleteFunc(slices.Clone(c.readings), func(r reading) bool { return r.to > after })
}

// Last is the end of the last reading; -Inf if there is none.
func (c *Curve) Last() float64 {
	if len(c.readings) == 0 {
		return math.Inf(-1)
	}
	return c.readings[len(c.readings)-1].to
}

// varies tells whether the readings lie far enough apart for a change.
func (c *Curve) varies() bool {
	low, high := c.bounds()
	return high-low >= Step
}

// bounds are the least and the largest reading.
func (c *Curve) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, r := range c.readings {
		low, high = min(low, r.value), max(high, r.value)
	}
	return low, high
}

// bins is the curve from a time on, the averages of so many bins; NaN where nothing was read.
func (c *Curve) bins(start float64, n int) boundaries.Curve {
	sums, weights := make([]float64, n), make([]float64, n)
	for _, r := range c.readings {
		for i := max(int((r.from-start)/width), 0); i < n && start+float64(i)*width < r.to; i++ {
			low := start + float64(i)*width
			if w := min(r.to, low+width) - max(r.from, low); w > 0 {
				sums[i], weights[i] = sums[i]+w*r.value, weights[i]+w
			}
		}
	}
	for i := range sums {
		sums[i] /= weights[i] // NaN without any
	}
	return sums
}

// Around is what the curve was on average in so many seconds before a time, and after it; NaN where nothing was read.
func (c *Curve) Around(at, seconds float64) (before, after float64) {
	n := int(seconds / width)
	return mean(c.bins(at-seconds, n)), mean(c.bins(at, n))
}

// mean is the average of the bins that are known.
func mean(c boundaries.Curve) float64 {
	sum, n := 0.0, 0.0
	for _, v := range c {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// A Change is a time at which the program began to behave otherwise.
type Change struct {
	At            float64 // s since session start
	Curve         int     // the index of the curve that changes most
	Before, After float64 // its means from the change before and up to now
}

// A Cycle is what comes back again and again. The zero value is none.
type Cycle struct {
	Seconds   float64 // how long one takes
	From, To  float64 // s since session start; as far as it was seen
	Curve     int     // the index of the curve that changes most in it
	Low, High float64 // what the curve is in the lower half of the time, and in the upper half
}

// Latest is the last change after a time, as the curves show it now: two seconds old at least. ok is false if there is none, and where the changes of the
// last minute come back again and again: a program that iterates does not behave otherwise, and its cycle is told.
func Latest(curves []*Curve, after, now float64) (last Change, cycle Cycle, ok bool) {
	start := max(math.Ceil((now-kept)/width)*width, 0)
	n := int((now - start) / width)
	var binned []boundaries.Curve
	var which []int // which curve each of them is
	var cycles []Cycle
	for i, c := range curves {
		if !c.varies() { // most do not
			continue
		}
		bins := c.bins(start, n)
		binned, which = append(binned, bins), append(which, i)
		if p := boundaries.PeriodOf(bins, int(shortestCycle/width)); p.Bins > 0 {
			one := Cycle{Seconds: float64(p.Bins) * width, From: start + float64(p.From)*width, To: start + float64(p.To)*width, Curve: i}
			if one.Low, one.High = halves(bins[p.From:p.To]); one.High-one.Low >= Step {
				cycles = append(cycles, one)
			}
		}
	}
	for _, b := range boundaries.Find(binned, boundaries.Limits{Least: int(shortest / width), Step: Step}) {
		c := Change{At: start + float64(b.Bin)*width, Curve: which[b.Curve], Before: b.Before, After: b.After}
		turns := slices.ContainsFunc(cycles, func(y Cycle) bool { return y.turns(curves[y.Curve], c, now) })
		if c.At >= after+shortest && !turns {
			last, ok = c, true
		}
	}
	for _, c := range cycles {
		if c.High-c.Low > cycle.High-cycle.Low {
			cycle = c
		}
	}
	return last, cycle, ok
}

// turns tells whether a change is one that the cycle of a curve goes through. When it ended is known to within a cycle.
func (y Cycle) turns(curve *Curve, c Change, now float64) bool {
	to := y.To
	if now-to > y.Seconds/2 {
		to -= y.Seconds
	}
	if c.At >= to {
		return false
	}
	before, after := curve.Around(c.At, min(around, y.Seconds/4))
	return c.Curve == y.Curve || math.Abs(after-before) >= Step
}

// halves are the means of the lower half of what is known and of the upper one.
func halves(c boundaries.Curve) (low, high float64) {
	values := slices.DeleteFunc(slices.Clone(c), math.IsNaN)
	slices.Sort(values)
	return mean(values[:len(values)/2]), mean(values[len(values)/2:])
}

// A Source is a curve, and what it is of.
type Source struct {
	Curve *Curve
	Whole bool // the whole program, which says most
	Ready bool // how long it waits for CPUs
	CPU   bool // how many CPUs it could use, whether it got them or not
}

// Told is Latest as it is told: of the source of the whole program that changes most then, if one changes by a Step. ok is false as well where the time changes
// for which the program waits for CPUs, where others may have taken them, or have left them. Nor has it a cycle of its own then.
func Told(list []Source, after, now float64) (last Change, cycle Cycle, ok bool) {
	curves := make([]*Curve, len(list))
	for i, s := range list {
		curves[i] = s.Curve
	}
	last, cycle, ok = Latest(curves, after, now)
	if byOthers(list, (*Curve).bounds, cycle.Curve) {
		cycle = Cycle{}
	}
	span := min(around, last.At-after)
	changes := func(c *Curve) (low, high float64) {
		before, after := c.Around(last.At, span)
		return min(before, after), max(before, after)
	}
	if !ok {
		return last, cycle, false
	}
	most := Step
	for i, s := range list {
		if before, after := s.Curve.Around(last.At, span); s.Whole && math.Abs(after-before) >= most {
			last.Curve, last.Before, last.After, most = i, before, after, math.Abs(after-before)
		}
	}
	return last, cycle, !byOthers(list, changes, last.Curve)
}

// byOthers tells that a change of a source may be what others do who want the CPUs: the time changes for which the program waits for them, or it waits for long
// and the change is one of what it computes. Where the program itself plainly wants no CPUs before or after, it is its own.
func byOthers(list []Source, span func(*Curve) (low, high float64), of int) bool {
	waits, wants := false, false
	for _, s := range list {
		low, high := span(s.Curve)
		changes := high-low >= Step
		waits = waits || s.Whole && s.Ready && (changes || list[of].CPU && high >= Step)
		wants = wants || s.Whole && s.CPU && changes && low < Step
	}
	return waits && !wants
}
