package daemon

import (
	"testing"
	"time"
)

// TestPace: passes that are short come five times a second, long ones take a hundredth of the time, and one that was held up changes
// nothing.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		took []time.Duration
		want time.Duration
	}{
		{[]time.Duration{time.Second}, tickInterval},
		{[]time.Duration{1e6, 1e6, 1e6, 1e6, 1e6}, tickInterval},
		{[]time.Duration{1e6, 1e6, 4e6, 5e6, 4e6, 90e6, 6e6}, 500 * time.Millisecond},
		{[]time.Duration{50e6, 60e6, 70e6, 50e6, 80e6}, longestTick},
	} {
		var p pace
		for _, took := range c.took {
			p.note(time.Time{}, took)
		}
		if got := p.interval(passShare); got != c.want {
			t.Errorf("%v: every %v, want %v", c.took, got, c.want)
		}
	}
}

// TestPaceOfBusyProcessors: where no processor is idle there are fewer passes.
func TestPaceOfBusyProcessors(t *testing.T) {
	var p pace
	for range passesKept {
		p.note(time.Time{}, 4*time.Millisecond)
	}
	if idle, busy := p.interval(passShare), p.interval(busyShare); idle != 400*time.Millisecond || busy != time.Second {
		t.Errorf("every %v, and every %v where no processor is idle", idle, busy)
	}
	if still := p.interval(stillShare); still != longestTick {
		t.Errorf("every %v where nobody waits for values", still)
	}
}

// TestPaceIsKept drives it with the ticks of a second's loop: as many passes as the interval says, though no tick is exact.
func TestPaceIsKept(t *testing.T) {
	for _, took := range []time.Duration{1e6, 4e6, 20e6} {
		var p pace
		passes, at := 0, time.Unix(100, 0)
		for i := range 500 {
			now := at.Add(time.Duration(i)*tickInterval + time.Duration(i%7)*time.Millisecond)
			if p.due(now, passShare) {
				p.note(now, took)
				passes++
			}
		}
		span := 500 * tickInterval
		if want := int(span / p.interval(passShare)); passes < want-6 || passes > want+6 {
			t.Errorf("%v each: %d passes in %v, want %d", took, passes, span, want)
		}
	}
}

// TestBeat: intervals that divide each other end together.
func TestBeat(t *testing.T) {
	d := Daemon{beats: time.Now().Add(-1250 * time.Millisecond)}
	long, short := d.Beat(200*time.Millisecond), d.Beat(50*time.Millisecond)
	if long <= 100*time.Millisecond || long > 150*time.Millisecond || (long-short)%(50*time.Millisecond) > time.Millisecond {
		t.Errorf("%v until the next beat of 200 ms, %v of 50 ms", long, short)
	}
}
