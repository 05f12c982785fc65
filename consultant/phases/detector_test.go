package phases

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

const many = 1000 // series of each kind

// A program that does one thing has one phase, whatever the noise: at most one false boundary in an hour.
func TestNoFalseBoundaries(t *testing.T) {
	const length = 100.0
	for i, n := range kinds {
		wrong, rhythms := 0, 0
		for seed := range int64(many) {
			list := play(n, steady, length, 0.2, 1000*int64(i)+seed)
			b := len(boundaries(list))
			wrong += b
			rhythms += len(list) - b
		}
		hours := many * length / 3600
		t.Logf("%-18s %5.2f false boundaries an hour, %5.2f false rhythms, in %.0f h", n.name, float64(wrong)/hours, float64(rhythms)/hours, hours)
		if float64(wrong) > hours || float64(rhythms) > hours {
			t.Errorf("%s: more than one an hour", n.name)
		}
	}
}

// A change is found, where it is, and told soon, as far as the noise lets it be seen. Where it does not, a place that is told is right nevertheless.
func TestChange(t *testing.T) {
	for i, n := range kinds {
		var off, late []float64
		others := 0
		for seed := range int64(many) {
			at := 8 + rand.New(rand.NewSource(seed)).Float64()*4
			list := boundaries(play(n, step(at), 20, 0.2, 1000*int64(i)+seed))
			others += len(list)
			if len(list) > 0 && math.Abs(list[0].At-at) < 1.5 {
				off, late = append(off, math.Abs(list[0].At-at)), append(late, list[0].told-at)
				others--
			}
		}
		slices.Sort(off)
		slices.Sort(late)
		found := float64(len(off)) / many
		nearly := len(off) * 99 / 100
		t.Logf("%-18s found %5.1f %%, 99 %% of them at most %.2f s off and told after %.2f s, all at most %.2f s and %.2f s; %d others", n.name, 100*found, off[nearly], late[nearly], off[len(off)-1], late[len(off)-1], others)
		if found < n.least || off[nearly] > 0.5 || n.least > 0 && late[nearly] > 3 {
			t.Errorf("%s: expected %.0f %%, 0.5 s and 3 s", n.name, 100*n.least)
		}
	}
}

// What is done in turns is one phase that repeats itself. Turns that are too short to be phases are never told as such, and others not more than twice.
func TestTurns(t *testing.T) {
	const runs = 100
	for _, half := range []float64{0.7, 1, 2, 2.5, 3, 4, 5, 8} {
		right, phases, first := 0, 0, 0.0
		for seed := range int64(runs) {
			list := play(kinds[0], turns(half, half), max(60, 8*half), 0.2, seed)
			b := boundaries(list)
			phases = max(phases, len(b))
			if i := slices.IndexFunc(list, func(e told) bool { return e.Kind == Repeats }); i >= 0 && math.Abs(list[i].Period-2*half) <= 0.25 {
				right++
				first = max(first, list[i].told)
			}
		}
		t.Logf("turns of %.1f s: period right in %d of %d, told after at most %.1f s; at most %d boundaries in a run", half, right, runs, first, phases)
		if right < runs || phases > 2 || half <= 2 && phases > 0 {
			t.Errorf("turns of %.1f s: expected the period each time", half)
		}
	}
}

// What has repeated itself and no longer does is another phase.
func TestTurnsEnd(t *testing.T) {
	for _, half := range []float64{1, 2, 4} {
		const end = 64 // the end of a pause of all of them
		l := func(t float64) []float64 {
			if t >= end {
				return turns(half, half)(half / 2)
			}
			return turns(half, half)(t)
		}
		list := play(kinds[0], l, 100, 0.2, 1)
		last := list[len(list)-1]
		t.Logf("turns of %.0f s: %+v", half, list)
		if last.Kind != Boundary || math.Abs(last.At-end) > 0.5 {
			t.Errorf("turns of %.0f s: %+v, expected a boundary at %d s", half, last, end)
		}
	}
}

// A phase that returns once is a phase.
func TestThreePhases(t *testing.T) {
	l := func(t float64) []float64 {
		switch {
		case t < 6:
			return []float64{1, 0, 0, 1}
		case t < 12:
			return []float64{0, 0, 1, 1}
		case t < 18:
			return []float64{0, 4, 0, 4}
		}
		return []float64{1, 0, 0, 1}
	}
	b := boundaries(play(kinds[1], l, 30, 0.2, 1))
	if len(b) != 3 {
		t.Fatalf("%+v", b)
	}
	for i, want := range []float64{6, 12, 18} {
		if math.Abs(b[i].At-want) > 0.5 || b[i].told > want+3 {
			t.Errorf("boundary %d: %+v, expected at %v s", i, b[i], want)
		}
	}
}

// Readings that are rare, late, missing or no numbers do no harm, and a session of any length takes the same memory.
func TestOddReadings(t *testing.T) {
	d := New(leasts)
	for _, r := range [][3]float64{{1, 1, 5}, {2, 1, 5}, {-1, 1, 5}, {0, math.Inf(1), 1}, {0, 1, math.NaN()}, {0, 1, math.Inf(-1)}, {math.NaN(), 1, 1}} {
		if found := d.Add(0, r[0], r[1], r[2]); found != nil || d.ticks.begun {
			t.Errorf("%v is taken", r)
		}
	}
	for _, width := range []float64{0.05, 0.2, 0.5, 1} {
		list := boundaries(play(kinds[1], step(20), 40, width, 3))
		if len(list) != 1 || math.Abs(list[0].At-20) > max(0.5, width) {
			t.Errorf("readings of %v s: %+v", width, list)
		}
	}
	d = New(leasts)
	for i := range 100 { // a metric that is read no longer, and then a gap of days
		at := float64(i) * 0.2
		if i < 20 {
			d.Add(0, at, at+0.2, 1)
		}
		d.Add(1, at, at+0.2, 1)
	}
	if d.ticks.next < 90 {
		t.Errorf("%d ticks are closed: a metric that has ended holds up the others", d.ticks.next)
	}
	d.Add(1, 300000, 300000.2, 1)
	if d.ticks.next != 1500001 {
		t.Errorf("after a gap: tick %d", d.ticks.next)
	}
}

// A reading takes no memory, and as much time after hours as at the beginning.
func TestBounded(t *testing.T) {
	d := New(leasts)
	at := 0.0
	add := func() {
		for m := range leasts {
			d.Add(m, at, at+0.2, 1+0.01*math.Sin(at*7.7))
		}
		at += 0.2
	}
	for range 20000 {
		add()
	}
	if n := testing.AllocsPerRun(2000, add); n > 1 {
		t.Errorf("%v allocations for each round of readings", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	d := New(leasts)
	for i := range b.N {
		at := float64(i/len(leasts)) * 0.2
		d.Add(i%len(leasts), at, at+0.2, 1+math.Sin(at*7.7))
	}
}
