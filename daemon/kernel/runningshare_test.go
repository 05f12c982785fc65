package kernel

import (
	"os"
	"testing"
)

// TestRunningShare: a process that has run has a share of the time in which it wanted to; of one that is not there nothing is known.
func TestRunningShare(t *testing.T) {
	for i := 0; i < 1e8; i++ { // some time
	}
	if got := RunningShare(os.Getpid()); !(got > 0 && got <= 1) {
		t.Errorf("this process: %g", got)
	}
	if got := RunningShare(-1); got != 1 {
		t.Errorf("nobody: %g", got)
	}
}
