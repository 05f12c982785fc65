package daemon

import (
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestEndedBeforeDetach: a target that is killed shortly before its probes are removed has ended before the session.
func TestEndedBeforeDetach(t *testing.T) {
	for _, wait := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond, 20 * time.Millisecond} {
		p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000", "1")
		d := attachTo(t, p.PID)
		var s sums
		d.mustEnable(t, &s, key(t, "procedure_calls", "/Code/calls.c/recurse"))
		d.stopOnce.Do(func() { close(d.stopped) }) // nobody else sees the end
		d.loops.Wait()
		p.Kill()
		time.Sleep(wait)
		clean, err := d.Detach()
		select {
		case <-d.Ended():
		default:
			t.Errorf("after %v: it has not ended: clean %v, %v", wait, clean, err)
		}
		if !clean || err != nil || !d.Targets()[0].Ended || d.Probes().Left != 0 {
			t.Errorf("after %v: clean %v, %v, %+v", wait, clean, err, d.Targets())
		}
	}
}
