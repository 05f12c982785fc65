package threads

import (
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/grid"
)

// TestCallsAreOurs: what a thread does when it makes calls for us is none of its own work. One that waits for others to give it something to do has nothing
// to do all the same. (In redis, 30 times on a CPU for the calls of an attach made its idle thread a waiting one, for a second.)
func TestCallsAreOurs(t *testing.T) {
	waits := kernel.BlockedCall{NR: unix.SYS_FUTEX, Args: [6]uint64{1: 0x189}} // FUTEX_WAIT_BITSET: a condition variable
	for _, c := range []struct {
		name          string
		stops, calls  int
		slices        uint64
		works, wakens bool
	}{
		{"it sleeps", 0, 0, 0, false, false},
		{"it is stopped", 3, 0, 12, false, false},
		{"it makes calls for us", 3, 14, 32, false, false},
		{"it runs as often by itself", 3, 0, 32, true, true},
		{"it runs far more often than its calls explain", 3, 14, 200, true, true},
	} {
		calls := 5 // of before
		table := New(Config{Name: "p{1}", Tree: grid.NewTree(), Driven: func(int) int { return calls }})
		k := kernel.ThreadTimes{PID: 1, TID: 1, Start: 1, Slices: 1000}
		table.Update(10, []kernel.ThreadTimes{k}, 7)
		table.Update(10.2, []kernel.ThreadTimes{k}, 7)
		calls += c.calls
		k.Slices += c.slices
		table.Update(10.4, []kernel.ThreadTimes{k}, 7+c.stops)
		r, ok := table.Get(1)
		if !ok {
			t.Fatal("the thread is not known")
		}
		if works := r.quietSince == 10.4; works != c.works || r.wakes > 0 != c.wakens {
			t.Errorf("%s: it has run by itself: %v; %.1f wakes a second", c.name, works, r.wakes)
		}
		if idle := idles(waits, 10.4-r.quietSince, r.wakes); idle == c.works {
			t.Errorf("%s: it is taken for idle: %v", c.name, idle)
		}
	}
}
