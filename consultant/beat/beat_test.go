package beat

import "testing"

// TestBegin: batches come in the short time at first and in the long one later; what was just found out does not wait for one that had nothing to do.
func TestBegin(t *testing.T) {
	b, begin := New(), 3.0
	for _, c := range []struct {
		at   float64
		grew bool
		want bool
	}{
		{0, false, true}, {0.1, false, false}, {0.1, true, true}, {0.2, false, false}, {0.4, false, true}, {Early - 0.05, false, true},
		{Early + Short, false, false}, {Early + Long, false, true}, {Early + Long + Short, true, true}, {Early + 3*Long, false, true},
	} {
		if got := b.Begin(begin+c.at, 0.02, c.grew); got != c.want {
			t.Errorf("at %.2f s, grew %v: %v", c.at, c.grew, got)
		}
	}
	b.Acted(begin + Early + 3*Long)
	if b.Begin(begin+Early+3.5*Long, 0.02, true) {
		t.Error("it begins half a second after a batch that had something to do")
	}
}

// TestPausesArePaidFor: later a batch waits until the pauses since the one before are within their share of the time, but not for ever.
func TestPausesArePaidFor(t *testing.T) {
	for _, c := range []struct{ paused, wait float64 }{{0, Long}, {0.0005, Long}, {0.0015, 1.5}, {0.003, 3}, {0.05, Longest}} {
		b := New()
		b.Begin(0, 0, false)
		at := Early + 1
		b.Begin(at, 0.1, false)
		b.Acted(at)
		if paused := 0.1 + c.paused; b.Begin(at+c.wait-0.05, paused, true) || !b.Begin(at+c.wait, paused, false) {
			t.Errorf("paused for %.3f s: no batch after %.2f s", c.paused, c.wait)
		}
	}
}
