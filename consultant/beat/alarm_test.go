package beat

import (
	"testing"
	"time"
)

// far is longer than any test waits.
const far = time.Hour

// rests gives a channel that is closed when a rest on the alarm is over.
func rests(t *testing.T, a *Alarm, least, most time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		a.Rest(t.Context(), least, most)
		close(over)
	}()
	return over
}

func mustEnd(t *testing.T, over <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		t.Fatal(what + " does not end the rest")
	}
}

// A rest ends by values, by a wish, and after a while; values that come meanwhile are news until they were seen.
func TestAlarm(t *testing.T) {
	values := make(chan struct{}, 1)
	a := NewAlarm(values)
	if a.HasNews() {
		t.Error("news of nothing")
	}
	over := rests(t, a, 0, far)
	select {
	case <-over:
		t.Fatal("nothing ends the rest")
	case <-time.After(50 * time.Millisecond):
	}
	values <- struct{}{}
	mustEnd(t, over, "a value")
	if !a.HasNews() {
		t.Error("the value is no news")
	}
	if a.Seen(); a.HasNews() {
		t.Error("what was seen is news")
	}
	values <- struct{}{}
	if !a.HasNews() || len(values) != 0 {
		t.Error("a value that comes while nobody rests is no news")
	}
	a.Seen()
	a.Wish()
	a.Wish() // is the same one
	mustEnd(t, rests(t, a, 0, far), "a wish")
	mustEnd(t, rests(t, a, time.Millisecond, 2*time.Millisecond), "time")
	if a.HasNews() || !a.HasWish() {
		t.Error("a wish is news, or none")
	}
	if a.Granted(); a.HasWish() {
		t.Error("what was granted is wished")
	}
}
