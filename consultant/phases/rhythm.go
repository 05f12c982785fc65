package phases

import "math"

// A rhythm is what repeats itself. A stretch that is long enough looks like a phase until it comes again: then it and the others are one phase. What is too
// short for that is found by how the metrics resemble themselves some time later.

const (
	shortest   = 5   // ticks of a period at least
	longestFor = 60  // ticks of a period at most where the metrics are compared with themselves
	lookEvery  = 10  // ticks
	alike      = 0.3 // of a change: levels that differ by less are the same
	resembles  = 0.6 // correlation of what repeats itself with what it was a period ago
	opposite   = 0.2 // correlation, below 0, that there must be in between
	keptLevels = 8   // stretches that are kept
)

// A stretch is a part of the past that was told as a phase, with the level of each metric.
type stretch struct {
	from  int // first tick
	level []float64
}

// rhythm is what is known of repetitions. The zero value knows nothing.
type rhythm struct {
	past   []stretch
	period int // ticks; 0 while nothing repeats itself
}

// turn is what follows from a change after a tick: the phase ends there, unless what follows was there before.
func (d *Detector) turn(p int, c change) []Event {
	now := stretch{d.from, d.levels()}
	for j := len(d.past) - 1; j > 0; j-- {
		if again, before := d.past[j], d.past[j-1]; d.sameLevel(again.level, c.level, c) && d.sameLevel(before.level, now.level, c) && before.from > d.ticks.next-keptTicks {
			d.period = p + 1 - again.from
			d.past = nil
			d.relearn(before.from, p+1)
			return []Event{{Kind: Repeats, At: float64(before.from) * tickTime, Period: float64(d.period) * tickTime}}
		}
	}
	at := d.locate(p, c)
	d.past = append(d.past, now)
	if d.period > 0 {
		d.past = nil
	}
	if len(d.past) > keptLevels {
		d.past = append(d.past[:0], d.past[1:]...)
	}
	d.period = 0
	d.begin(p + 1)
	return []Event{{Kind: Boundary, At: at}}
}

// levels are the means of the metrics in the phase; NaN where too little is known.
func (d *Detector) levels() []float64 {
	list := make([]float64, len(d.usual))
	for m := range list {
		if list[m] = d.usual[m].mean; d.usual[m].n < leastAge {
			list[m] = math.NaN()
		}
	}
	return list
}

// sameLevel tells whether two levels are alike, compared with how large a change is.
func (d *Detector) sameLevel(a, b []float64, c change) bool {
	apart, step := 0.0, 0.0
	for m, by := range c.by {
		if v := (a[m] - b[m]) / d.curve.largest[m]; v == v && by == by {
			apart += v * v
			step += by * by / (d.curve.largest[m] * d.curve.largest[m])
		}
	}
	return step > 0 && apart <= alike*alike*step
}

// relearn begins a phase anew with what it was from tick a to b.
func (d *Detector) relearn(a, b int) {
	d.begin(a)
	for k := a; k < b; k++ {
		for m := range d.usual {
			d.usual[m].add(d.ticks.at(k, m))
		}
	}
}

// locate is the time within reach of a peak that divides what is before from what is after best.
func (d *Detector) locate(p int, c change) float64 {
	at, best := p, math.Inf(-1)
	sum := 0.0
	for k := p - reach; k <= p+reach; k++ {
		v := 0.0 // how much nearer the tick is to what is before
		for m, by := range c.by {
			if x := d.ticks.at(k, m); x == x && by == by {
				v += by * (c.level[m] - by/2 - x) / (d.curve.largest[m] * d.curve.largest[m])
			}
		}
		if sum += v; sum > best {
			at, best = k, sum
		}
	}
	return float64(at+1) * tickTime
}

// lookForRhythm looks from time to time whether the phase repeats itself, or has stopped to.
func (d *Detector) lookForRhythm() []Event {
	if d.ticks.next%lookEvery != 0 {
		return nil
	}
	if d.period > 0 {
		return d.stopped()
	}
	if period := d.resemblance(); period > 0 {
		d.period = period
		return []Event{{Kind: Repeats, At: float64(d.from) * tickTime, Period: float64(period) * tickTime}}
	}
	return nil
}

// normal are the ticks of the phase that are known, as parts of the largest value of each metric, around their mean. Metrics that hardly vary are left out.
func (d *Detector) normal(a, b int) (list [][]float64) {
	for m := range d.usual {
		mean, variance, n := d.ticks.mean(m, a, b)
		if n < (b-a)*3/4 || math.Sqrt(variance) < 0.1*d.curve.largest[m] {
			continue
		}
		one := make([]float64, b-a)
		for k := range one {
			if v := d.ticks.at(a+k, m); v == v {
				one[k] = (v - mean) / d.curve.largest[m]
			}
		}
		list = append(list, one)
	}
	return list
}

// resemblance is the shortest time, in ticks, after which the phase is as it was, and in between the opposite; 0 if there is none. Three times as long must be
// known.
func (d *Detector) resemblance() int {
	b := d.ticks.next
	a := max(d.from, b-3*longestFor)
	if b-a < 3*shortest {
		return 0
	}
	list := d.normal(a, b)
	if len(list) == 0 {
		return 0
	}
	lowest, best, period := 0.0, resembles, 0
	for lag := 1; lag <= (b-a)/3; lag++ {
		r := correlated(list, lag)
		switch {
		case period > 0 && r < best:
			return period
		case lag >= shortest && lowest < -opposite && r >= best:
			best, period = r, lag
		}
		lowest = min(lowest, r)
	}
	return 0
}

// correlated is the correlation of metrics with what they are some ticks later.
func correlated(list [][]float64, lag int) float64 {
	product, first, second := 0.0, 0.0, 0.0
	for _, x := range list {
		for k := lag; k < len(x); k++ {
			product += x[k] * x[k-lag]
			first += x[k-lag] * x[k-lag]
			second += x[k] * x[k]
		}
	}
	return product / math.Sqrt(max(first*second, 1e-300))
}

// stopped tells that the phase has not repeated itself for one and a half of its periods: it ended when it became steady.
func (d *Detector) stopped() []Event {
	b := d.ticks.next
	a := b - max(d.period*3/2, d.period+testLag)
	if a <= d.from+d.period || b-a > keptTicks {
		return nil
	}
	varied := false
	level := make([]float64, len(d.usual))
	for m := range d.usual {
		mean, variance, n := d.ticks.mean(m, a, b)
		level[m] = mean
		if usually := math.Sqrt(d.usual[m].variance()); n > 0 && usually > 0.1*d.curve.largest[m] {
			if math.Sqrt(variance) > 0.3*usually {
				return nil
			}
			varied = true
		}
	}
	if !varied {
		return nil
	}
	for a--; a > d.from && d.near(level, a); a-- {
	}
	d.past, d.period = nil, 0
	d.relearn(a+1, b-testLag)
	return []Event{{Kind: Boundary, At: float64(a+1) * tickTime}}
}

// near tells whether a tick is like a level, compared with how much the metrics vary.
func (d *Detector) near(level []float64, k int) bool {
	for m := range level {
		if v := d.ticks.at(k, m); v == v && math.Abs(v-level[m]) > max(math.Sqrt(d.usual[m].variance()), 0.1*d.curve.largest[m]) {
			return false
		}
	}
	return true
}
