package selfcost

import (
	"testing"
	"time"
)

// TestInterval: short passes come five times a second, long ones take their share of a CPU, none is later than the longest interval, and one that
// took longer than the others changes nothing.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		took  time.Duration
		share float64
		want  time.Duration
	}{
		{0, PassShare, ShortestInterval},
		{time.Millisecond, PassShare, ShortestInterval},
		{5 * time.Millisecond, PassShare, 500 * time.Millisecond},
		{60 * time.Millisecond, PassShare, LongestInterval},
		{4 * time.Millisecond, PassShare, 400 * time.Millisecond},
		{4 * time.Millisecond, BusyShare, time.Second},
		{4 * time.Millisecond, StillShare, LongestInterval},
	} {
		var v Interval
		v.Note(time.Time{}, c.took)
		if got := v.Length(c.share); got != ShortestInterval {
			t.Errorf("after one pass of %v: every %v", c.took, got)
		}
		v.Note(time.Time{}, c.took)
		v.Note(time.Time{}, time.Minute)
		if got := v.Length(c.share); got != c.want {
			t.Errorf("%v at %g of a CPU: every %v, want %v", c.took, c.share, got, c.want)
		}
	}
	var first Interval
	if !first.Due(time.Unix(100, 0), PassShare) {
		t.Error("the first pass is not due")
	}
}

// TestIntervalIsKept drives it with the ticks of a hundred seconds: as many passes as the interval says, though no tick is exact.
func TestIntervalIsKept(t *testing.T) {
	for _, took := range []time.Duration{1e6, 4e6, 20e6} {
		var v Interval
		passes, at := 0, time.Unix(100, 0)
		for i := range 500 {
			now := at.Add(time.Duration(i)*ShortestInterval + time.Duration(i%7)*time.Millisecond)
			if v.Due(now, PassShare) {
				v.Note(now, took)
				passes++
			}
		}
		span := 500 * ShortestInterval
		if want := int(span / v.Length(PassShare)); passes < want-6 || passes > want+6 {
			t.Errorf("%v each: %d passes in %v, want %d", took, passes, span, want)
		}
	}
}
