package stack

import (
	"errors"
	"slices"
	"testing"

	"culprit/daemon/image/unwind"
)

// TestBeyondGenerated: who called code without a name and without tables is found, also where the sample has only the top of the stack.
func TestBeyondGenerated(t *testing.T) {
	w, r, mem := blockedIn(t, "generatedwait.c")
	want := []string{"call_generated", "serve", "main"}
	for _, top := range []uint64{1 << 20, 256} {
		short := func(addr uint64) (uint64, error) {
			if addr >= r.RSP+top {
				return 0, errors.New("not in the sample")
			}
			return mem(addr)
		}
		w.Live = mem
		if got := names(w.Walk(r, short)); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("of the top %d bytes: %q", top, got)
		}
		w.Live = nil
		got := names(w.Walk(r, short))
		if found := len(got) > 0; found != (top > 1<<10) {
			t.Errorf("of the top %d bytes, with nothing else to look at: %q", top, got)
		}
	}
	w.Live = func(addr uint64) (uint64, error) { return 0, nil }
	if got := names(w.Walk(r, mem)); len(got) > 0 {
		t.Errorf("of a thread that has come back meanwhile: %q", got)
	}
	var stopped []string
	w.Live = mem
	w.follow(r, mem, false, w.Code.FunctionAt, fileCode, func(fr Frame, _ unwind.Regs) bool {
		stopped = append(stopped, names([]Frame{fr})...)
		return true
	})
	if len(stopped) > 0 {
		t.Errorf("of a thread that is stopped: %q is believed", stopped)
	}
}
