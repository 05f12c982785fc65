package daemon

import (
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/target"
	"culprit/internal/testprog"
)

// interruptedKinds are the ways in which daemon/testdata/interrupted.cc ends its own waits; over are those whose time was over.
var interruptedKinds = []string{"cancelled", "left_by_jump", "signalled", "woken", "forked"}

// TestInterruptedWaits: a program cancels its waits amid frames of C++, jumps out of them, ends them by signals and events, and forks, while it is
// stopped twenty times a second. What a wait returns has a reason in the program each time, and cancelled threads clean up once.
func TestInterruptedWaits(t *testing.T) {
	const between = 50 * time.Millisecond
	span := 2500 * time.Millisecond
	if *long {
		span = time.Minute
	}
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/interrupted.cc", "-lrt"))
	p.Say(t, "go")
	d := attachTo(t, p.PID)
	stops := 0
	for begin := time.Now(); time.Since(begin) < span; stops++ {
		time.Sleep(between)
		var err error
		if stops%4 == 0 {
			err = everyKind(d)
		} else {
			err = d.targets[0].Stops.Stop(func(*process.World) error { return nil })
		}
		if !p.Alive() {
			t.Fatalf("the target has ended after %d stops: status %d, last lines %q", stops, p.Wait(t, time.Second), last(p.Lines(), 3))
		}
		if err != nil {
			t.Error(err)
		}
	}
	detachClean(t, d, p.PID)
	endsItsOwnWaits(t, p)
}

// TestKilledAmidWaits: the same while culprits are killed at random instants. The kernel lets the threads of a tracer that is killed go as it has
// stopped them: a wait that only culprit could have continued ends with EINTR, as after SIGSTOP and SIGCONT. No other thing may happen to one.
func TestKilledAmidWaits(t *testing.T) {
	t.Parallel() // those that trace are processes of their own
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/interrupted.cc", "-lrt"), "killed")
	p.Say(t, "go")
	for i := range rounds(2*len(moments), 120) {
		killAtRandom(t, p.PID, moments[i%len(moments)])
		p.MustBeat(t, 10*time.Second)
		if r, err := target.Restore(p.PID); err != nil {
			t.Fatalf("restore: %v (%+v)", err, r)
		}
		if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	endsItsOwnWaits(t, p)
}

// endsItsOwnWaits ends the program, which tells what it found bad, and checks that all was tried.
func endsItsOwnWaits(t *testing.T, p *testprog.Prog) {
	t.Helper()
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
	t.Log(p.Counts())
	for _, kind := range interruptedKinds {
		if p.Counts()[kind] == 0 {
			t.Errorf("no wait was %s", kind)
		}
	}
}
