package kernel

import (
	"errors"
	"testing"
	"time"
)

// TestProcessTimesCoverAllThreads: a process has what its threads have, those that have ended included.
func TestProcessTimesCoverAllThreads(t *testing.T) {
	p := target(t, "churn.c")
	time.Sleep(500 * time.Millisecond)
	var threads ThreadTimes
	tids, err := ListThreads(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		if one, err := ReadThread(p.PID, tid); err == nil {
			threads.User += one.User
			threads.System += one.System
			threads.MinorFaults += one.MinorFaults
		}
	}
	whole, err := ReadProcess(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the process has %+v; of its threads that live %v user, %v system, %d faults", whole, threads.User, threads.System, threads.MinorFaults)
	if whole.User+whole.System == 0 || whole.User+whole.System+tick < threads.User+threads.System || whole.MinorFaults < threads.MinorFaults || whole.MinorFaults == 0 {
		t.Errorf("less than its threads, or nothing: %+v, %+v", whole, threads)
	}
	p.Kill()
	if _, err := ReadProcess(p.PID); !errors.Is(err, ErrGone) {
		t.Errorf("of a process that has ended: %v", err)
	}
}
