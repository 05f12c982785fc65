package threads

import (
	"testing"
	"time"
)

// TestRunsLong: by what a thread did between two refreshes, and a new one since it began.
func TestRunsLong(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name        string
		run, ran    time.Duration
		was, slices uint64
		isNew, want bool
	}{
		{"it ran all the time", 1000 * ms, 1200 * ms, 10, 10, false, true},
		{"it was preempted now and then", 1000 * ms, 1200 * ms, 10, 80, false, true},
		{"it answers", 1000 * ms, 1100 * ms, 10, 10010, false, false},
		{"it waits, and ran for long before", 1000 * ms, 1000 * ms, 10, 10, false, false},
		{"it is new and ran for long", 0, 5 * ms, 0, 2, true, true},
		{"it is new and waits", 0, ms / 10, 0, 2, true, false},
	} {
		var r Row
		r.Prev.Run, r.Prev.Slices = c.run, c.was
		now := r.Prev
		now.Run, now.Slices = c.ran, c.slices
		if r.noteRuns(now, c.isNew); r.long != c.want {
			t.Errorf("%s: long %v", c.name, r.long)
		}
	}
}
