package decide

import "math"

// A Func is one side of a test: a number from the averages of the metrics.
type Func func(get func(metric string) float64) float64

// A Test compares two functions of the averages of some metrics. It does not change after NewTest.
type Test struct {
	Metrics          []string
	Global           []bool // by index of Metrics: read at the whole program
	Greater          bool   // the value must exceed the threshold; else it must be below
	value, threshold Func
	given            func(get func(metric string) float64) bool // nil = always
	stake            Func                                       // nil = not told
	whole            Func                                       // nil = not told
	used             Func                                       // nil = not told
	index            map[string]int
	additive         bool
	share            bool
}

// NewTest makes the test "value > threshold", or "value < threshold" if greater is false. global names the metrics that
// are read at the whole program wherever the test is made.
func NewTest(metrics, global []string, greater bool, value, threshold Func) *Test {
	t := &Test{Metrics: metrics, Greater: greater, value: value, threshold: threshold}
	t.index = make(map[string]int, len(metrics))
	t.Global = make([]bool, len(metrics))
	for i, m := range metrics {
		t.index[m] = i
		for _, g := range global {
			t.Global[i] = t.Global[i] || g == m
		}
	}
	t.additive = t.scales()
	return t
}

// OfShare says whether the value is a part of a time in the whole of it.
func (t *Test) OfShare(is bool) *Test {
	t.share = is
	return t
}

// Given has the test say nothing where holds is false.
func (t *Test) Given(holds func(get func(metric string) float64) bool) *Test {
	t.given = holds
	return t
}

// Staking has the test tell what is at stake: the share of the program's active time that would be gained at most.
func (t *Test) Staking(stake Func) *Test {
	t.stake = stake
	return t
}

// Stake is what is at stake for the averages sums/n of the metrics, 0..1; NaN if the test does not tell.
func (t *Test) Stake(sums []float64, n float64) float64 {
	if t.stake == nil {
		return math.NaN()
	}
	return min(max(t.stake(t.averages(sums, n)), 0), 1)
}

// OfWhole has the test tell how many units a value of 1 is, and how many there were; used may be nil.
func (t *Test) OfWhole(whole, used Func) *Test {
	t.whole, t.used = whole, used
	return t
}

// Used is how many units there were for the averages sums/n of the metrics; 0 if the test does not tell.
func (t *Test) Used(sums []float64, n float64) float64 {
	if t.used == nil {
		return 0
	}
	return t.used(t.averages(sums, n))
}

// Whole is how many units a value of 1 is for the averages sums/n of the metrics; 0 if the test does not tell.
func (t *Test) Whole(sums []float64, n float64) float64 {
	if t.whole == nil {
		return 0
	}
	return t.whole(t.averages(sums, n))
}

// Additive tells whether the value at a focus is a part of the value at the focus it refines, so that a part cannot
// exceed its whole.
func (t *Test) Additive() bool { return t.additive }

// scales finds out whether the value grows with every metric that is read at the focus, and doubles when all of them
// do. Then a part of a focus has at most the value of the whole. A ratio of two such metrics does not double. The
// function is a black box, so it is evaluated at fixed points.
func (t *Test) scales() bool {
	if !t.Greater || t.Locals() == 0 {
		return false
	}
	points := [][]float64{{0.3, 0.7, 0.2, 0.5}, {0.05, 0.011, 0.4, 0.09}, {3.1, 1.7, 2.3, 5.9}, {40, 900, 7, 130}}
	moved := false
	for _, p := range points {
		base := t.probe(p, func(int) float64 { return 1 })
		doubled := t.probe(p, func(int) float64 { return 2 })
		if math.Abs(doubled-2*base) > 1e-9*math.Abs(doubled) {
			return false
		}
		moved = moved || base > 0
		for i := range t.Metrics {
			more := t.probe(p, func(j int) float64 {
				if i == j {
					return 2
				}
				return 1
			})
			if !t.Global[i] && more < base-1e-9*math.Abs(base) {
				return false
			}
		}
	}
	return moved
}

// probe evaluates the value with numbers taken from p in turn, those read at the focus times a factor.
func (t *Test) probe(p []float64, factor func(i int) float64) float64 {
	return t.value(func(metric string) float64 {
		i, ok := t.index[metric]
		switch {
		case !ok:
			return 0
		case t.Global[i]:
			return 4
		}
		return p[i%len(p)] * factor(i)
	})
}

// Locals is the number of metrics that are read at the focus itself.
func (t *Test) Locals() int {
	n := 0
	for _, g := range t.Global {
		if !g {
			n++
		}
	}
	return n
}

// Judge evaluates both sides for the averages sums/n of the metrics, given in their order. Where the test does not apply the value is
// the threshold itself.
func (t *Test) Judge(sums []float64, n float64) (value, threshold float64) {
	get := t.averages(sums, n)
	value, threshold = t.value(get), t.threshold(get)
	if t.given != nil && !t.given(get) {
		value = threshold
	}
	return value, threshold
}

func (t *Test) averages(sums []float64, n float64) func(metric string) float64 {
	return func(metric string) float64 {
		if i, ok := t.index[metric]; ok && n > 0 {
			return sums[i] / n
		}
		return 0
	}
}

// Margin is how far the value is beyond the threshold: positive where the test holds.
func (t *Test) Margin(value, threshold float64) float64 {
	if t.Greater {
		return value - threshold
	}
	return threshold - value
}

// justBelow is how near below a threshold a value is at it, as a part of it.
const justBelow = 0.01

// beyond is the margin of values that were counted: a size is often just the limit, such as a page, and a count that is one too high
// by the end of a bin would make it smaller.
func (t *Test) beyond(value, threshold float64) float64 {
	margin := t.Margin(value, threshold)
	if !t.Greater && margin > 0 && margin <= justBelow*math.Abs(threshold) {
		return 0
	}
	return margin
}

// Holds judges single averages of the metrics.
func (t *Test) Holds(averages []float64) (value, threshold float64, holds bool) {
	value, threshold = t.Judge(averages, 1)
	return value, threshold, t.beyond(value, threshold) > 0 && !t.Nothing(averages, value, threshold)
}

// Nothing tells that a test for a value that is too small saw no activity at all: x/0 is 0 and would look true. A test
// may also say by itself that too little happened, by a value that equals the threshold.
func (t *Test) Nothing(sums []float64, value, threshold float64) bool {
	if t.given != nil && value == threshold {
		return true
	}
	if t.Greater || t.Locals() == 0 {
		return false
	}
	if value == threshold {
		return true
	}
	for i, v := range sums {
		if !t.Global[i] && v != 0 {
			return false
		}
	}
	return true
}
