package children

import (
	"testing"
	"time"
)

// TestPace: what was not used may be used at once; then a share of the time is, however long it goes on.
func TestPace(t *testing.T) {
	const each, step = 30 * time.Millisecond, 10 * time.Millisecond
	begin := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		idle   time.Duration // before
		span   time.Duration
		least  time.Duration // used in the span
		atMost time.Duration
	}{
		{"at first", 0, 2 * time.Second, 2*time.Second - each, 6 * time.Second},
		{"for a minute", 0, time.Minute, joinBurst + time.Minute/10 - 2*each, joinBurst + time.Minute/10 + 2*each},
		{"after an hour without", time.Hour, time.Minute, joinBurst + time.Minute/10 - 2*each, joinBurst + time.Minute/10 + 2*each},
	} {
		var p pace
		p.may(begin)
		now, used := begin.Add(c.idle), time.Duration(0)
		for end := now.Add(c.span); now.Before(end); now = now.Add(step) {
			if p.may(now) {
				p.used(each)
				used += each
			}
		}
		if used < c.least || used > c.atMost {
			t.Errorf("%s: %v were used in %v, want %v to %v", c.name, used, c.span, c.least, c.atMost)
		}
	}
}
