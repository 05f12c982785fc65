package process

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// holds is a Holder that counts.
type holds struct {
	mu           sync.Mutex
	begun, ended int
}

func (h *holds) Begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun++
}

func (h *holds) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended++
}

func (h *holds) seen() (begun, ended int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun, h.ended
}

// TestHolder: whatever may attach to a thread is said before and after, also where it fails.
func TestHolder(t *testing.T) {
	tg := start(t, compile(t, stateSource), "running") // whose waits need no end, which holds it too
	var h holds
	expect := func(what string, begun, ended int) {
		t.Helper()
		if b, e := h.seen(); b != begun || e != ended {
			t.Errorf("%s: %d begins and %d ends, want %d and %d", what, b, e, begun, ended)
		}
	}
	p, err := OpenFor(tg.pid(), &h)
	must(t, err)
	t.Cleanup(func() { p.Close() })
	expect("opening", 1, 1)
	stop(t, p, func(*World) error {
		expect("in a stop", 2, 1)
		return nil
	})
	expect("after a stop", 2, 2)
	if _, err := p.Stop(t.Context(), StopOptions{}, func(*World) error { return errors.New("no") }); err == nil {
		t.Error("the error of the function is lost")
	}
	expect("after a stop that failed", 3, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Stop(ctx, StopOptions{}, nothing); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expect("a stop that did not begin", 3, 3)
}
