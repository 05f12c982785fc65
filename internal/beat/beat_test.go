package beat

import (
	"testing"
	"time"
)

// TestUntil: intervals that divide each other end together.
func TestUntil(t *testing.T) {
	for _, c := range []struct{ now, interval, want time.Duration }{
		{0, 100, 100}, {1, 100, 99}, {99, 100, 1}, {100, 100, 100}, {250, 200, 150}, {250, 50, 50}, {7, 0, 0}, {7, -3, 0},
	} {
		if got := until(c.now, c.interval); got != c.want {
			t.Errorf("until(%d, %d) = %d, want %d", c.now, c.interval, got, c.want)
		}
	}
	if d := Until(time.Second); d <= 0 || d > time.Second {
		t.Errorf("%v until the next second", d)
	}
}
