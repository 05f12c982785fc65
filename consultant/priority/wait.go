package priority

// Backoffs, in s: the first, which doubles each time, and the longest.
const (
	firstBackoff = 0.25
	MostBackoff  = 8.0
)

// A Wait is since when a test waits. Times are s since session start. The zero value is that of one that nobody has looked at.
type Wait struct {
	WantedAt    float64 // when its values were wanted first, 0 if never
	PostponedAt float64 // since when it waits for CPU time or for others, 0 if it does not
	Behind      bool    // it waits for others of its hypothesis, for which stack samples speak
	backoff     float64 // s; how long it was deferred last
}

// Want notes that the values of the test are wanted.
func (w *Wait) Want(now float64) {
	if w.WantedAt == 0 {
		w.WantedAt = now
	}
}

// Postpone notes that the test is not begun although it could be.
func (w *Wait) Postpone(now float64) {
	if w.PostponedAt == 0 {
		w.PostponedAt = now
	}
}

// Defer is for how long a test is deferred that cannot be measured now, in s: longer each time.
func (w *Wait) Defer() float64 {
	w.backoff = min(max(2*w.backoff, firstBackoff), MostBackoff)
	return w.backoff
}

// Since is since when it waits, for whatever it waits for; 0 if it has not been looked at yet.
func (w *Wait) Since() float64 { return max(w.WantedAt, w.PostponedAt) }

// Wanted is for how long its values have been wanted, in s.
func (w *Wait) Wanted(now float64) float64 { return past(w.WantedAt, now) }

// Postponed is for how long it has been postponed, in s.
func (w *Wait) Postponed(now float64) float64 { return past(w.PostponedAt, now) }

// Reason says why it is postponed, if it waits for others; "" if it does not.
func (w *Wait) Reason() string {
	if w.Behind {
		return "postponed: stack samples speak against it, and for others that are being tested"
	}
	return ""
}

func past(at, now float64) float64 {
	if at == 0 {
		return 0
	}
	return now - at
}
