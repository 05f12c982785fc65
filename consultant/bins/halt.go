package bins

import "culprit/consultant/decide"

const (
	seenLate = 1.0  // s after its beginning, or its end, within which a halt is known of
	isFresh  = 10.0 // s after its end in which a halt explains that there are no values
)

// A Halt is the last time in which the program did nothing, since a signal had stopped it: what is read of it then says nothing. The zero value is
// none.
type Halt struct{ From, To float64 } // s since session start

// See notes whether the program is halted now, and tells whether that has begun.
func (h *Halt) See(halted bool, now float64) (begins bool) {
	if !halted {
		return false
	}
	if begins = h.To == 0 || now-h.To > seenLate; begins {
		h.From = now - seenLate
	}
	h.To = now
	return begins
}

// Touches tells that a reading is of that time, or of a part of it.
func (h *Halt) Touches(r decide.Bin) bool { return h.To > 0 && r.End > h.From && r.Start < h.To }

// Explains tells that there are no values now because of it.
func (h *Halt) Explains(now float64) bool { return h.To > 0 && now-h.To <= isFresh }
