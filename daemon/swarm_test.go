package daemon

import (
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestSwarm puts more than a hundred probes a second into a program of a thousand threads, most of which live 0.1 to 20 ms, and takes
// them out: what
// is counted all the time is exact, the target never stands still for long, and the daemon's memory stays flat.
func TestSwarm(t *testing.T) {
	span := time.Duration(rounds(2, 60)) * time.Second
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/swarm.c"), "1000", "700", "100", "20000")
	d := attachTo(t, p.PID)
	var s sums
	calls, bodies := nameOf(t, d, "procedure_calls", "all_small"), nameOf(t, d, "procedure_calls", "body")
	d.mustEnable(t, &s, calls, bodies)
	var keys []grid.PairKey
	for i := range 8 {
		name := fmt.Sprintf("small_%d", i)
		for _, metric := range []string{"procedure_calls", "exec_time_inclusive", "exec_time", "cpu_inclusive"} {
			keys = append(keys, nameOf(t, d, metric, name))
		}
	}
	swarm(t, d, &s, keys, span/4) // until the tables have their size
	debug.FreeOSMemory()
	before := residentKB(t)
	in, deferred, alive := swarm(t, d, &s, keys, span)
	debug.FreeOSMemory()
	grown := residentKB(t) - before
	d.Disable([]grid.PairKey{calls, bodies})
	detachClean(t, d, p.PID)
	p.Say(t, "stop")
	p.Expect(t, "DONE", 20*time.Second)
	pauses := d.Overhead().Pauses
	t.Logf("%d probes in %v (%.0f a second), %d deferred; %d threads, %d alive at a time; %d stops, the longest %d us, the mean %d us; resident memory grew from %d KiB by %d KiB",
		in, span, float64(in)/span.Seconds(), deferred, p.Counts()["threads"], alive, pauses.Count, pauses.MaxUS, pauses.TotalUS/int64(pauses.Count), before, grown)
	if a, b := s.of(calls), s.of(bodies); b < 1000 || a > 2*b+2000 || a < 2*b-2000 {
		t.Errorf("%v calls of all_small, %v of body that calls it twice", a, b)
	}
	if float64(in) < 30*span.Seconds() {
		t.Errorf("%d probes within %v", in, span)
	}
	if grown > 20<<10 {
		t.Errorf("resident memory grew by %d KiB", grown)
	}
	if pauses.MaxUS > 2*stops.Deadline.Microseconds() {
		t.Errorf("the target stood still for %d us", pauses.MaxUS)
	}
	p.Stop(t)
}

// swarm puts pairs in and takes them out, up to 300 a second, and counts the threads that it sees on the way.
func swarm(t *testing.T, d *Daemon, s *sums, keys []grid.PairKey, span time.Duration) (in, deferred, alive int) {
	t.Helper()
	for began, n := time.Now(), 0; time.Since(began) < span; n++ {
		for _, r := range d.Enable(keys[n%4:], s) {
			switch {
			case r.Err == nil:
				in++
			case errors.As(r.Err, new(grid.ErrDeferred)):
				deferred++
			default:
				t.Fatalf("%s: %v", r.Key, r.Err)
			}
		}
		d.Disable(keys)
		alive = max(alive, d.Targets()[0].Threads)
		time.Sleep(time.Until(began.Add(time.Duration(n+1) * 100 * time.Millisecond)))
	}
	return in, deferred, alive
}
