package daemon

import (
	"slices"
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/internal/testprog"
)

// The calls of testdata/targets/timeouts.c of which the kernel tells when they are over, and those that count from the first stop.
var (
	heldExactly   = []string{"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "select", "nanosleep", "futex", "semtimedop", "sigtimedwait", "mq_timedreceive", "io_getevents"}
	heldFromStops = []string{"recv", "accept"}
)

// TestTimedWaits: waits end in their time although the target is stopped twice a second. Those that count from the first stop which broke into
// them are late by the time between two, and all by what the target stood still. How late waits are without us is measured beside, on the same machine in the same seconds.
func TestTimedWaits(t *testing.T) {
	const between = 500 * time.Millisecond
	lengths, span := []string{"200", "1000", "3000"}, 6*time.Second
	if *long {
		lengths, span = []string{"200", "1000", "5000"}, time.Minute
	}
	bin := testprog.Build(t, "testdata/targets/timeouts.c")
	alone := testprog.StartTarget(t, bin, lengths...)
	p := testprog.StartTarget(t, bin, lengths...)
	for _, q := range []*testprog.Prog{alone, p} {
		q.Say(t, "go")
	}
	d := attachTo(t, p.PID)
	stops := 0
	for begin := time.Now(); time.Since(begin) < span; stops++ {
		time.Sleep(between)
		if err := d.targets[0].Stops.Stop(func(*process.World) error { return nil }); err != nil {
			t.Log(err)
		}
	}
	detachClean(t, d, p.PID)
	late, usual, stood := latest(t, p), latest(t, alone), d.session.Pauses.Total()
	t.Logf("%d stops, %v together; late by us: %v\nwithout: %v", stops, stood, late, usual)
	inTime := func(kind, ms string, by time.Duration) bool {
		name := kind + "/" + ms
		got, ok := late[name]
		if noise := 2*usual[name] + 40*time.Millisecond; ok && got <= stood+by+noise { // on a loud machine waits are late without us as well
			return true
		}
		t.Logf("%s: late by %v (there: %v), without us by %v", name, got, ok, usual[name])
		return false
	}
	outliers := 0
	for _, kind := range slices.Concat(heldExactly, heldFromStops) {
		for _, ms := range lengths {
			if !inTime(kind, ms, between) {
				t.Errorf("%s/%s is late by more than the time between two stops", kind, ms)
			} else if slices.Contains(heldExactly, kind) && !inTime(kind, ms, 0) {
				outliers++
			}
		}
	}
	if outliers > 2 { // a wait whose time ends in the moment of a stop counts from that
		t.Errorf("%d kinds of waits of which the kernel tells when they are over are late", outliers)
	}
}

// latest ends a target and gives how late the latest of each kind of wait was.
func latest(t *testing.T, p *testprog.Prog) map[string]time.Duration {
	t.Helper()
	p.Stop(t)
	all := map[string]time.Duration{}
	for name, us := range p.Counts() {
		all[name] = time.Duration(us) * time.Microsecond
	}
	return all
}
