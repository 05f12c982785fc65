package session

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/internal/require"
)

// An aged daemon is one whose session began long ago: every time that it tells is later by as much. Histograms of the session are folded then from their beginning
// on, to bins of 12.8 s in two hours.
type aged struct {
	serve.Daemon
	by float64 // s
}

func (a aged) Now() float64 { return a.Daemon.Now() + a.by }

func (a aged) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	results := a.Daemon.Enable(keys, agedSink{sink, a.by})
	for i := range results {
		results[i].Since += a.by
	}
	return results
}

// An agedSink gives on values as later ones.
type agedSink struct {
	to grid.Sink
	by float64
}

func (s agedSink) Sample(key grid.PairKey, start, end, value float64) {
	s.to.Sample(key, start+s.by, end+s.by, value)
}

func (s agedSink) Hold(key grid.PairKey, start, end float64, v grid.Held) {
	s.to.(grid.HeldSink).Hold(key, start+s.by, end+s.by, v)
}

func (s agedSink) Distribute(key grid.PairKey, start, end float64, growth *grid.Distribution) {
	s.to.(grid.DistributionSink).Distribute(key, start+s.by, end+s.by, growth)
}

const (
	twoHours  = 7200.0
	agedWidth = 12.8 // s; of a bin then
	ageRuns   = 2    // of each program, young and old in turn; the soonest count: others use the CPUs too
	noLater   = 1.2  // as late, at most
	between   = 0.5  // s that lie between two turns and two readings
)

// findIn is after how many seconds a session says first what is right, and how wide the bins of its histograms are.
func findIn(t *testing.T, pid int, age float64, right string) (seconds, width float64) {
	t.Helper()
	cfg := searchOf(t, pid)
	cfg.Log = nil
	d, err := attach(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := on(aged{d, age}, cfg, began)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() {
		defer cancel()
		for ctx.Err() == nil && seconds == 0 {
			time.Sleep(50 * time.Millisecond)
			if b := s.Present().Bottlenecks; len(b) > 0 && strings.Contains(b[0].Sentence, right) {
				seconds = time.Since(began).Seconds()
			}
		}
	}()
	s.Run(ctx, Limits{})
	<-ctx.Done()
	for _, p := range s.grid.Pairs() {
		width = max(width, p.Histogram.Width())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if seconds == 0 {
		t.Fatalf("%q is not told first:\n%s", right, first(s.Report()))
	}
	return seconds, width
}

// TestAgedSessions: in sessions that are two hours old, whose histograms are folded, programs are answered as soon as in young ones.
func TestAgedSessions(t *testing.T) {
	require.Root(t)
	for _, c := range []struct{ program, right string }{{"cpu.c", "word_distance"}, {"lock.c", "session_table_lock"}, {"io.c", "append_journal"}} {
		t.Run(c.program, func(t *testing.T) {
			pid := startDemo(t, c.program)
			var young, old []float64
			for range ageRuns {
				y, fine := findIn(t, pid, 0, c.right)
				o, wide := findIn(t, pid, twoHours, c.right)
				if fine > 0.3 || wide < agedWidth {
					t.Fatalf("bins are %g and %g s wide", fine, wide)
				}
				young, old = append(young, y), append(old, o)
			}
			a, b := slices.Min(young), slices.Min(old)
			t.Logf("told after %.2f s in a young session, after %.2f s in one of two hours (%.2f and %.2f)", a, b, young, old)
			if b > noLater*a+between {
				t.Error("that is too late")
			}
		})
	}
}
