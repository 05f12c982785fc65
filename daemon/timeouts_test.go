package daemon

import (
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
	lengths, span := []string{"200", "1000", "4000"}, 9*time.Second
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
		if err := d.targets[0].stop(func(*process.World) error { return nil }); err != nil {
			t.Log(err)
		}
	}
	detachClean(t, d, p.PID)
	late, usual, stood := latest(t, p), latest(t, alone), d.pauses.total()
	t.Logf("%d stops, %v together; late by us: %v\nwithout: %v", stops, stood, late, usual)
	for _, kind := range heldExactly {
		for _, ms := range lengths {
			expectInTime(t, kind+"/"+ms, late, usual, stood+20*time.Millisecond)
		}
	}
	for _, kind := range heldFromStops {
		for _, ms := range lengths {
			expectInTime(t, kind+"/"+ms, late, usual, stood+between+20*time.Millisecond)
		}
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

// expectInTime: on a loud machine waits are late without us as well.
func expectInTime(t *testing.T, name string, late, usual map[string]time.Duration, by time.Duration) {
	t.Helper()
	got, ok := late[name]
	if noise := 2*usual[name] + 40*time.Millisecond; !ok || got > by+noise {
		t.Errorf("%s: late by %v (there: %v), without us by %v", name, got, ok, usual[name])
	}
}
