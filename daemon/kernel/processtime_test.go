package kernel

import (
	"math"
	"os"
	"testing"
	"time"
)

// TestProcessTime compares the clock of this process with what the system accounts to it, and asks for one that there cannot be.
func TestProcessTime(t *testing.T) {
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
	}
	before := OwnTime()
	got, err := ProcessTime(os.Getpid())
	if after := OwnTime(); err != nil || got < before-10*time.Millisecond || got > after+10*time.Millisecond {
		t.Errorf("%v, %v; used %v to %v", got, err, before, after)
	}
	if _, err := ProcessTime(math.MaxInt32 >> 3); err == nil {
		t.Error("there is no such process")
	}
}
