package bins

import (
	"testing"

	"culprit/consultant/decide"
)

// A halt is known of somewhat late, goes on while it is seen, and is one of several.
func TestHalt(t *testing.T) {
	var h Halt
	if h.Touches(decide.Bin{Start: 0, End: 1}) || h.Explains(0) || h.See(false, 5) {
		t.Error("there was none")
	}
	if !h.See(true, 12.4) || h.See(true, 12.9) || h.From > 12 || !h.See(true, 20) || h.From < 18 {
		t.Errorf("%+v", h)
	}
	h = Halt{}
	for at := 12.4; at < 20; at += 0.5 {
		h.See(true, at)
	}
	for _, c := range []struct {
		from, to float64
		is       bool
	}{{10, 11.3, false}, {11, 12, true}, {15, 15.2, true}, {19.8, 21, true}, {20, 20.5, false}} {
		if got := h.Touches(decide.Bin{Start: c.from, End: c.to}); got != c.is {
			t.Errorf("from %g to %g: %v; the halt is %+v", c.from, c.to, got, h)
		}
	}
	if !h.Explains(25) || h.Explains(40) {
		t.Errorf("%+v explains that there are no values", h)
	}
	if !h.See(true, 60) || h.From < 50 {
		t.Errorf("the next one: %+v", h)
	}
}
