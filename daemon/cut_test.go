package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestNothingIsCut: calls that move large pieces move all of them, in order, although the target is stopped some times a second.
func TestNothingIsCut(t *testing.T) {
	require.Root(t)
	const between = 200 * time.Millisecond
	span := 3 * time.Second
	if *long {
		span = time.Minute
	}
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/bulk.c"))
	p.Say(t, "go")
	d := attachTo(t, p.PID)
	stops := 0
	for begin := time.Now(); time.Since(begin) < span; stops++ {
		time.Sleep(between)
		if err := d.targets[0].Stops.Stop(func(*process.World) error { return nil }); err != nil {
			t.Log(err)
		}
	}
	cuts, stood := d.Overhead().Pauses.Cuts, d.session.Pauses.Total()
	detachClean(t, d, p.PID)
	p.Stop(t)
	calls, short := 0, 0
	for name, n := range p.Counts() {
		if kind, ok := strings.CutPrefix(name, "calls/"); ok {
			s := n - p.Counts()["whole/"+kind]
			t.Logf("%s: %d calls, %d short", kind, n, s)
			calls, short = calls+int(n), short+int(s)
		}
	}
	t.Logf("%d stops, %v together; %d of %d calls were cut, %d of them told", stops, stood, short, calls, cuts)
	if 2*short > stops { // a stop that leaves nobody in a call cuts eight or nine; on a loud machine one may run on for longer than stops wait
		t.Errorf("%d calls moved a part of what they were to move", short)
	}
	if calls == 0 || stops < 10 {
		t.Errorf("%d calls in %d stops show nothing", calls, stops)
	}
}
