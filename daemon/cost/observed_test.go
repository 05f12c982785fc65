package cost

import (
	"math"
	"testing"
	"time"

	"culprit/daemon/selfcost"
)

var usual = selfcost.ShortestInterval.Seconds()

// passes is what was observed after so many passes in the usual interval, each of which finds the same.
func passes(n int, p Pass) *Observed {
	o := new(Observed)
	for range n {
		p.At += usual
		o.Add(p)
	}
	return o
}

// TestObserved: the cost is a share of the time of active threads, and is known after about a second.
func TestObserved(t *testing.T) {
	p := Pass{CPUs: 0.04, Active: 4, Statistics: 0.02, Targets: 1}
	if got := passes(25, p).Lately(); math.Abs(got-0.03) > 0.0001 {
		t.Errorf("after a while %g is observed, want 0.03", got)
	}
	if got := passes(5, p).Lately(); got < 0.02 || got >= 0.03 {
		t.Errorf("after a second %g is observed", got)
	}
	if got := passes(50, p).Share(50*usual, 0, 1); math.Abs(got-0.03) > 0.0001 {
		t.Errorf("a share of %g is lost, want 0.03", got)
	}
}

// TestObservedPause: a pause stops one of the targets, is forgotten as the cost of the last second, and stays in what was lost.
func TestObservedPause(t *testing.T) {
	o := passes(5, Pass{Paused: 200 * time.Millisecond, Targets: 4})
	if got := o.Share(5*usual, 200*time.Millisecond, 4); math.Abs(got-0.05/(5*usual)) > 1e-9 {
		t.Errorf("a share of %g is lost", got)
	}
	if got := o.Share(5*usual, 400*time.Millisecond, 4); math.Abs(got-0.1/(5*usual)) > 1e-9 {
		t.Errorf("with a pause since the last pass a share of %g is lost", got)
	}
	early := o.Lately()
	for at := 6 * usual; at < 20*usual; at += usual {
		o.Add(Pass{At: at, Paused: 200 * time.Millisecond, Targets: 4})
	}
	if late := o.Lately(); early <= 0 || late > early/20 {
		t.Errorf("at first %g of the last second, later %g", early, late)
	}
}

// TestLateReading: a reading that is too high for its interval counts for no more than all of it.
func TestLateReading(t *testing.T) {
	o := passes(1, Pass{Active: 1, Targets: 1})
	o.Add(Pass{At: usual + 0.1, CPUs: 1000, Active: 1, Targets: 1})
	if got := o.Share(usual+0.1, 0, 1) * (usual + 0.1); math.Abs(got-0.1) > 1e-9 {
		t.Errorf("%g s were lost in 0.1 s", got)
	}
	if got := o.Share(0.01, 0, 1); got != 1 {
		t.Errorf("a share of %g is lost", got)
	}
}

// TestEarlyPass: a pass that comes soon after another counts for less.
func TestEarlyPass(t *testing.T) {
	o, early := passes(1, Pass{Targets: 1}), passes(1, Pass{Targets: 1})
	o.Add(Pass{At: 2 * usual, CPUs: 0.5, Active: 1, Targets: 1})
	early.Add(Pass{At: 1.1 * usual, CPUs: 0.5, Active: 1, Targets: 1})
	if got, want := early.Lately(), o.Lately()/10; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g, want %g", got, want)
	}
}

// TestSamples: what stack samples take is told by the time in which they were taken, and no shorter one than is usual.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		n             int
		seconds, want float64
	}{{1000, 1, 0.01}, {100, usual, 100 * sampleTime / usual}, {100, 0, 100 * sampleTime / usual}} {
		if got := Samples(c.n, c.seconds); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d samples in %g s take %g CPUs, want %g", c.n, c.seconds, got, c.want)
		}
	}
}

// TestLost: what others miss counts twice, on top of what probes take, and only as far as the target wants to run.
func TestLost(t *testing.T) {
	for _, c := range []struct{ wanted, observed, taken, lost float64 }{
		{1, 0, 0, 0}, {1, 0.02, 0, 0.02}, {1, 0, 0.05, 0.1}, {4, 0.5, 0.05, 0.55}, {1, 0.1, 0.9, 1}, {1, 1, 0, 1}, {0.1, 0.02, 0.5, 0.118}, {0, 0.02, 0.5, 0.02},
	} {
		var o Observed
		o.Add(Pass{At: 2, Active: 1, Wanted: c.wanted, Targets: 1})
		if got := o.Lost(c.observed, c.taken, 2); math.Abs(got-c.lost) > 1e-9 {
			t.Errorf("%+v: lost %g", c, got)
		}
	}
}
