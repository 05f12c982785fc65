package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
	"culprit/pcl/check"
)

// sums adds up what a daemon samples.
type sums struct {
	mu sync.Mutex
	m  map[grid.PairKey]float64
}

func (s *sums) Sample(k grid.PairKey, start, end, v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[grid.PairKey]float64{}
	}
	s.m[k] += v
}

func (s *sums) of(k grid.PairKey) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[k]
}

func library(t testing.TB) *pcl.Library {
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatalf("default library: %v %v", err, problems)
	}
	return lib
}

func attachTo(t testing.TB, pids ...int) *Daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("not root: only children of this test may be traced")
	}
	d, err := Attach(context.Background(), Options{Library: library(t), Log: func(s string) { t.Log(s) }}, pids...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return d
}

// attachWith attaches with metrics of the test's own beside those of the default library.
func attachWith(t testing.TB, text string, pids ...int) *Daemon {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: []string{text}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	d, err := Attach(context.Background(), Options{Library: lib, Log: func(s string) { t.Log(s) }}, pids...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return d
}

func key(t testing.TB, metric, focus string) grid.PairKey {
	t.Helper()
	f, err := grid.ParseFocus(focus)
	if err != nil {
		t.Fatal(err)
	}
	return grid.PairKey{Metric: metric, Focus: f}
}

func (d *Daemon) mustEnable(t testing.TB, sink grid.Sink, keys ...grid.PairKey) {
	t.Helper()
	for _, r := range d.Enable(keys, sink) {
		if r.Err != nil {
			t.Fatalf("%s: %v", r.Key, r.Err)
		}
	}
}

// detachClean detaches and checks that nothing is left.
func detachClean(t testing.TB, d *Daemon, pid int) {
	t.Helper()
	if clean, err := d.Detach(); !clean {
		t.Fatalf("detach: %v", err)
	}
	r, err := patch.Verify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Clean() {
		t.Fatalf("left behind: %+v", r)
	}
}

func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/targets/calls.c")
	p := testprog.StartTarget(t, bin, "10000000", "4")
	d := attachTo(t, p.PID)
	var s sums
	names := []string{"work", "recurse", "tail_first", "tail_second", "tail_last", "deep_jump", "try_jump"}
	var keys []grid.PairKey
	for _, n := range names {
		keys = append(keys, key(t, "procedure_calls", "/Code/calls.c/"+n))
	}
	start := time.Now()
	d.mustEnable(t, &s, keys...)
	t.Logf("enabled in %v, pauses %+v", time.Since(start), d.Overhead().Pauses)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	counts := p.Counts()
	for i, n := range names {
		if got, want := uint64(s.of(keys[i])), counts[n]; got != want || want == 0 {
			t.Errorf("%s: %d calls counted, the program made %d", n, got, want)
		}
	}
	t.Log(fmt.Sprint(counts))
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// listAll makes all functions of a process known.
func listAll(t *measuring.Process) {
	for _, o := range t.Objects() {
		t.Know(o, o.Functions())
	}
}
