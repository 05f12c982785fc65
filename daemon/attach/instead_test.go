package attach

import (
	"fmt"
	"strings"
	"testing"

	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// TestHalfIsNoReasonToTryAgain: where something could not be taken out the attach ends, whatever it had failed with: another try would find that,
// and samples would hide it. What this culprit has left it does not take for another one's.
func TestHalfIsNoReasonToTryAgain(t *testing.T) {
	late := &process.Deferred{TID: 1, State: 'R', InCall: true}
	err := fmt.Errorf("%w: %v", segment.ErrHalf, late)
	if Unstopped(err) || MaySample(err) {
		t.Errorf("%v: tried again %v, looked at %v", err, Unstopped(err), MaySample(err))
	}
	for _, taken := range []*Taken{{PID: 7}, {PID: 7, own: true}} {
		if MaySample(taken) || !strings.Contains(taken.Error(), "culprit restore 7") || taken.own == strings.Contains(taken.Error(), "earlier") {
			t.Errorf("%v", taken)
		}
	}
	if !MaySample(&Taken{PID: 7, Owner: 8}) {
		t.Error("a process that another culprit measures is not looked at")
	}
}
