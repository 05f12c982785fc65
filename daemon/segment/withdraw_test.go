package segment

import (
	"errors"
	"strings"
	"testing"

	"culprit/daemon/process"
)

// TestStays: the error of an attach that has left something says what to do, and not that a process could not be stopped in time, whatever it had
// failed with: another try would find what is there.
func TestStays(t *testing.T) {
	late := &process.Deferred{TID: 1, State: 'R', InCall: true}
	err := stays(77, late, late)
	if !errors.Is(err, ErrHalf) || deferred(err) || process.GivenUp(err) || !strings.Contains(err.Error(), "culprit restore 77 ") {
		t.Errorf("%v: tried again %v", err, deferred(err))
	}
}
