package sampling

import (
	"math"
	"testing"

	"culprit/grid"
)

// TestIdleShares: a place has the share of the time of all threads of all processes, however often each of them is looked at, and its stack read.
func TestIdleShares(t *testing.T) {
	const others = 199
	var one, many Counts
	at := func(c *Counts, tid int, now float64, place string) {
		if span := c.idling.look(tid, place != "", now, 0); place != "" {
			c.idling.note(idlePlace{function: place}, tid, span)
		}
	}
	tid := 0
	for step := range 400 { // of 0.1 s
		now := 0.1 * float64(step)
		at(&one, 1000, now, "alone")
		for range 4 { // one of the many threads is looked at fifty times as often as the others
			at(&many, 0, now, "eager")
		}
		for range 20 {
			if tid = tid%others + 1; tid <= 50 {
				at(&many, tid, now, "") // it is not idle
			} else {
				at(&many, tid, now, "pool")
			}
		}
		if step%10 == 9 {
			one.idling.fade()
			many.idling.fade()
		}
	}
	var all IdleTally
	all.Add(&one)
	all.Add(&many)
	idle := all.Idle()
	shares := map[string]grid.IdlePlace{}
	for _, p := range idle.Places {
		shares[p.Function] = p
	}
	near := func(what string, got, threads float64) {
		t.Helper()
		if want := threads / (others + 2); math.Abs(got-want) > 0.1*want+0.001 {
			t.Errorf("%s: %.4f, want %.4f", what, got, want)
		}
	}
	near("all that are idle", idle.Share, others-50+2)
	near("the pool", shares["pool"].Share, others-50)
	near("the one that is looked at often", shares["eager"].Share, 1)
	near("the one in a process of its own", shares["alone"].Share, 1)
	if n := shares["pool"].Threads; n != others-50 {
		t.Errorf("%d threads in the pool", n)
	}
}

// TestFirstLook: a thread that began lately stands for its life, and one that was there before for the time since the first look at any.
func TestFirstLook(t *testing.T) {
	var c Counts
	for _, x := range []struct {
		tid             int
		now, born, want float64
	}{{1, 10, 3, 0}, {2, 12, 3, 2}, {3, 14, 13.5, 0.5}, {1, 15, 3, 5}, {3, 1000, 13.5, longestSpan}} {
		if got := c.idling.look(x.tid, true, x.now, x.born); got != x.want {
			t.Errorf("thread %d at %v stands for %v s, want %v", x.tid, x.now, got, x.want)
		}
	}
}
