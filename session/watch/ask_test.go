package watch

import (
	"context"
	"testing"
	"time"

	"culprit/grid"
	"culprit/pcl/check"
)

// later is an instrumenter that can enable nothing before it was asked a number of times.
type later struct {
	grid.Instrumenter
	refusals int
	asked    int
}

func (l *later) Enable(keys []grid.PairKey, _ grid.Sink) (results []grid.EnableResult) {
	l.asked++
	for _, key := range keys {
		r := grid.EnableResult{Key: key}
		if l.asked <= l.refusals {
			r.Err = grid.ErrDeferred{Reason: "a thread is in the way"}
		}
		results = append(results, r)
	}
	return results
}

func newAsker(t *testing.T, l *later) *Watcher {
	t.Helper()
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	g := grid.New(l, lib.Metric, func() float64 { return 0 })
	return New(g, grid.NewTree(), nil, lib, nil, nil)
}

func isEnabled(w *Watcher, key grid.PairKey) bool {
	s, ok := w.State(key)
	return ok && s.Enabled() && s.Named
}

// TestEnablePatiently: what is not possible yet is tried again, each pair once, until it is possible or patience is over.
func TestEnablePatiently(t *testing.T) {
	cpu, bad := grid.PairKey{Metric: "cpu"}, grid.PairKey{Metric: "no_such_metric"}
	for _, c := range []struct {
		refusals int
		patience time.Duration
		asked    int
		ok       bool
	}{{0, 0, 1, true}, {2, time.Minute, 3, true}, {1, 0, 1, false}} {
		l := &later{refusals: c.refusals}
		w := newAsker(t, l)
		w.Ask(context.Background(), c.patience, []grid.PairKey{cpu, cpu, bad})
		if l.asked != c.asked || isEnabled(w, cpu) != c.ok {
			t.Errorf("%+v: asked %d times, %v", c, l.asked, w.state[cpu].err)
		}
		if isEnabled(w, bad) {
			t.Error("a metric that there is not was enabled")
		}
		if s, ok := w.State(grid.PairKey{Metric: "io_wait"}); ok {
			t.Errorf("a pair that nobody asked for: %+v", s)
		}
		if shown := w.Shown(); len(shown) != 2 {
			t.Errorf("shown: %v", shown)
		}
	}
}

// TestEnableEndsWithItsContext: nobody waits for a pair whose test was interrupted.
func TestEnableEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	newAsker(t, &later{refusals: 1 << 30}).Ask(ctx, time.Hour, []grid.PairKey{{Metric: "cpu"}})
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}
