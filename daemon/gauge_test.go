package daemon

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// heldValues keeps what a daemon says of gauges.
type heldValues struct {
	sums
	lock sync.Mutex
	of   map[grid.PairKey]*heldValue
}

// A heldValue is what a gauge was over all intervals together.
type heldValue struct {
	area, seconds  float64
	low, high, now float64
}

func (h *heldValues) Hold(k grid.PairKey, start, end float64, v grid.Held) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.of == nil {
		h.of = map[grid.PairKey]*heldValue{}
	}
	o := h.of[k]
	if o == nil {
		o = &heldValue{low: math.Inf(1), high: math.Inf(-1)}
		h.of[k] = o
	}
	o.area += v.Mean * (end - start)
	o.seconds += end - start
	o.low, o.high, o.now = min(o.low, v.Min), max(o.high, v.Max), v.Last
}

func (h *heldValues) get(k grid.PairKey) (heldValue, bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if o := h.of[k]; o != nil {
		return *o, true
	}
	return heldValue{}, false
}

const gaugeHead = `units items; aggregateOperator sum; style SampledFunction; `

const gaugeMetrics = `metric level { name "level"; ` + gaugeHead + `base is gauge {
		append preInsn $function("raise_it").entry (* level += $arg[0]; *) append preInsn $function("lower_it").entry (* level -= $arg[0]; *) } }
	metric ownLevel { name "own_level"; ` + gaugeHead + `base is counter {
		append preInsn $function("raise_it").entry (* ownLevel += $arg[0]; *) append preInsn $function("lower_it").entry (* ownLevel -= $arg[0]; *) } }
	metric unset { name "unset"; ` + gaugeHead + `base is gauge { append preInsn $function("never").entry (* unset = $arg[0]; *) } }
	metric unchanged { name "unchanged"; ` + gaugeHead + `base is gauge { append preInsn $function("never").entry (* unchanged += $arg[0]; *) } }`

// agrees measures a gauge until its mean is within a share of the one that the program works out, three times at most: a thread that loses the
// processor between the probe's clock and the program's own makes them differ.
func agrees(t *testing.T, within float64, measure func(t *testing.T) (mean, want float64)) {
	t.Helper()
	for try := 1; ; try++ {
		mean, want := measure(t)
		off := math.Abs(mean/want - 1)
		if off <= within || t.Failed() {
			return
		}
		if t.Logf("mean %.10g, by the program %.10g: %.2g off", mean, want, off); try == 3 {
			t.Errorf("no mean of three is within %g", within)
			return
		}
	}
}

// TestGaugeOfManyThreads: eight threads change one gauge as fast as they can. Its mean is the one that the program works out, to a
// millionth; smallest, largest and last value are exact.
func TestGaugeOfManyThreads(t *testing.T) { agrees(t, 1e-6, gaugeOfManyThreads) }

func gaugeOfManyThreads(t *testing.T) (mean, want float64) {
	const changes, rounds = 2_000_000, 1 // so many that a thread displaced between the probe and the clock of the program does not matter
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/gauge.c"), fmt.Sprint(rounds), fmt.Sprint(changes))
	d := attachWith(t, gaugeMetrics, p.PID)
	var s heldValues
	level, unset, unchanged := key(t, "level", "/"), key(t, "unset", "/"), key(t, "unchanged", "/")
	d.mustEnable(t, &s, level, unset, unchanged)
	began := readAt(d, level)
	p.Say(t, "go")
	p.Expect(t, "DONE", 3*time.Minute)
	d.tickAll()
	v, _ := s.get(level)
	span := float64(readAt(d, level) - began)
	want, mean = float64(p.Counts()["area"])/span, v.area/v.seconds
	rate := 16 * changes * rounds / d.session.Clock.Seconds(float64(p.Counts()["cycles"])) / 1e6
	t.Logf("%.1f M changes a second; mean %.9g, by the program %.9g: %.2g off; from %v to %v", rate, mean, want, mean/want-1, v.low, v.high)
	if v.low != 0 || v.high != 8*changes || v.now != 0 {
		t.Errorf("from %v to %v, last %v; want 0 to %v, last 0", v.low, v.high, v.now, 8*changes)
	}
	if rate < 2 {
		t.Errorf("only %.1f M changes a second", rate)
	}
	if v, ok := s.get(unset); ok {
		t.Errorf("a gauge that was never set has values: %+v", v)
	}
	if v, ok := s.get(unchanged); !ok || v.low != 0 || v.high != 0 || v.area != 0 {
		t.Errorf("a gauge that nothing has changed: %+v", v)
	}
	d.Disable([]grid.PairKey{level, unset, unchanged})
	detachClean(t, d, p.PID)
	return mean, want
}

// TestGaugeOfEachThread: the sum of the gauges of all threads has the mean and the last value of one of the process.
func TestGaugeOfEachThread(t *testing.T) { agrees(t, 1e-6, gaugeOfEachThread) }

func gaugeOfEachThread(t *testing.T) (mean, want float64) {
	const changes, rounds = 2_000_000, 1
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/gauge.c"), fmt.Sprint(rounds), fmt.Sprint(changes))
	d := attachWith(t, gaugeMetrics, p.PID)
	var s heldValues
	level := key(t, "own_level", "/")
	d.mustEnable(t, &s, level)
	began := readAt(d, level)
	p.Say(t, "go")
	p.Expect(t, "DONE", 3*time.Minute)
	d.tickAll()
	v, _ := s.get(level)
	want, mean = float64(p.Counts()["area"])/float64(readAt(d, level)-began), v.area/v.seconds
	if v.now != 0 {
		t.Errorf("last %v", v.now)
	}
	if v.low > 0 || v.high < 8*changes*0.9 {
		t.Errorf("from %v to %v, which do not bound 0 to %v", v.low, v.high, 8*changes)
	}
	d.Disable([]grid.PairKey{level})
	detachClean(t, d, p.PID)
	return mean, want
}

// TestGaugeInSignalHandlers: a handler that changes a gauge while its thread is changing it spoils nothing.
func TestGaugeInSignalHandlers(t *testing.T) { agrees(t, 1e-5, gaugeInSignalHandlers) }

func gaugeInSignalHandlers(t *testing.T) (mean, want float64) {
	const changes = 2_000_000
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/gauge.c"), "1", fmt.Sprint(changes), "100")
	d := attachWith(t, gaugeMetrics, p.PID)
	var s heldValues
	level, own := key(t, "level", "/"), key(t, "own_level", "/")
	d.mustEnable(t, &s, level, own)
	began := map[grid.PairKey]uint64{level: readAt(d, level), own: readAt(d, own)} // they are read one after the other
	p.Say(t, "go")
	p.Expect(t, "DONE", 3*time.Minute)
	d.tickAll()
	mean, want = 1, 1
	for _, k := range []grid.PairKey{level, own} { // the one that is further off
		v, _ := s.get(k)
		m, w := v.area/v.seconds, float64(p.Counts()["area"])/float64(readAt(d, k)-began[k])
		if math.Abs(m/w-1) >= math.Abs(mean/want-1) {
			mean, want = m, w
		}
		if v.now != 0 {
			t.Errorf("%v: last %v", k, v.now)
		}
	}
	if v, _ := s.get(level); v.low != 0 || v.high < 8*changes || v.high > 8*changes+8 {
		t.Errorf("from %v to %v, want 0 to %v and what handlers add", v.low, v.high, 8*changes)
	}
	if n := p.Counts()["interruptions"]; n < 1000 {
		t.Errorf("only %d signals came", n)
	}
	d.Disable([]grid.PairKey{level, own})
	detachClean(t, d, p.PID)
	return mean, want
}

// readAt is the time-stamp counter when a gauge was last read.
func readAt(d *Daemon, k grid.PairKey) uint64 {
	d.lockAll()
	defer d.unlockAll()
	return d.pairs[k].axis.TSC()
}
