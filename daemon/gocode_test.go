package daemon

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/daemon/plans"
	"culprit/daemon/survey"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestGoCodeIsSampled: of a cgo program the C functions get probes, and the Go functions are measured by samples.
func TestGoCodeIsSampled(t *testing.T) {
	t.Parallel()
	require.Tool(t, "gcc")
	bin := testprog.BuildGo(t, "testdata/odd/cgo")
	p := testprog.StartTarget(t, bin)
	d := attachTo(t, p.PID)
	var s sums
	inGo, inC := nameOf(t, d, "exec_time_inclusive", "main.unit"), nameOf(t, d, "procedure_calls", "c_wait")
	got := d.Enable([]grid.PairKey{inGo, inC, nameOf(t, d, "procedure_calls", "main.unit")}, &s)
	if got[0].Err != nil || got[0].Tier != grid.TierSample {
		t.Errorf("a time of a Go function: %v of tier %v, want samples", got[0].Err, got[0].Tier)
	}
	if got[1].Err != nil || got[1].Tier != grid.TierProbe {
		t.Errorf("calls of a C function: %v of tier %v, want probes", got[1].Err, got[1].Tier)
	}
	if !errors.As(got[2].Err, new(grid.ErrNotSampled)) {
		t.Errorf("calls of a Go function: %v, want that samples do not count", got[2].Err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && (s.of(inGo) == 0 || s.of(inC) == 0); { // 48 others want to run
		time.Sleep(200 * time.Millisecond)
		d.tickAll()
	}
	if s.of(inGo) == 0 || s.of(inC) == 0 {
		t.Errorf("a Go function that runs took %v s, a C function was called %v times", s.of(inGo), s.of(inC))
	}
	for _, site := range d.targets[0].Text.Sites() {
		if f := d.targets[0].FunctionAt(site.Addr); f != nil && f.Obj.IsGoCode(f.Fn) {
			t.Errorf("Go function %s is patched", f.Fn.Name)
		}
	}
	for name, want := range map[string]bool{"main.unit": true, "c_wait": false} {
		f := d.targets[0].Func(d.targets[0].Named(name)[0])
		if got := d.targets[0].MayBeGo(f.Obj.Bias + f.Fn.Addr); got != want {
			t.Errorf("%s is code of Go: %v", name, got)
		}
	}
	if why := d.Unseen("sync_wait"); !strings.Contains(why, "goroutine") || !strings.Contains(d.Notes(key(t, "sync_wait", "/")), why) {
		t.Errorf("of waits it is said %q, in the notes %q", why, d.Notes(key(t, "sync_wait", "/")))
	}
	if why := d.Unseen("cpu"); why != "" {
		t.Errorf("of the processor it is said that %s", why)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestGoCodeHasNoPoints: what `culprit points` and `culprit doctor` say.
func TestGoCodeHasNoPoints(t *testing.T) {
	t.Parallel()
	require.Tool(t, "gcc")
	bin := testprog.BuildGo(t, "testdata/odd/cgo")
	r, err := survey.Points(bin)
	if err != nil || r.Refused[plans.WhyGo] < 1000 || r.Instrumentable < 10 {
		t.Errorf("%d functions refused as Go code, %d can be instrumented, %v", r.Refused[plans.WhyGo], r.Instrumentable, err)
	}
	stripped, err := survey.Points(testprog.BuildGo(t, "testdata/odd/cgo", "-ldflags=-s -w"))
	if err != nil || stripped.Instrumentable != 0 {
		t.Errorf("of a stripped program, which does not say what is C code, %d functions can be instrumented, %v", stripped.Instrumentable, err)
	}
	p := testprog.StartTarget(t, bin)
	limits, err := survey.Limits(p.PID)
	if err != nil || len(limits) != 1 || limits[0].Why != plans.WhyGo {
		t.Errorf("limits of a Go program: %v, %v", limits, err)
	}
	p.Stop(t)
}

// TestFlushesOfGo: what threads of a Go program wait for files is told, although it has no C library, and its threads that have no goroutine to run wait
// for nothing.
func TestFlushesOfGo(t *testing.T) {
	bin := testprog.BuildGo(t, "testdata/odd/goflush")
	p := testprog.Start(t, bin, filepath.Join(t.TempDir(), "audit.log"))
	for end := time.Now().Add(10 * time.Second); p.Counts()["spent"] == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it says nothing")
		}
	}
	d := lookAt(t, p.PID)
	var s sums
	waits, flushes, blocked := key(t, "io_wait_inclusive", "/"), key(t, "fsync_time", "/"), key(t, "blocked", "/")
	enableAll(t, d, &s, []grid.PairKey{waits, flushes, blocked})
	time.Sleep(500 * time.Millisecond)
	d.tickAll()
	before := [4]float64{float64(p.Counts()["spent"]) / 1e6, s.of(waits), s.of(flushes), s.of(blocked)}
	time.Sleep(4 * time.Second)
	d.tickAll()
	want, got := float64(p.Counts()["spent"])/1e6-before[0], [3]float64{s.of(waits) - before[1], s.of(flushes) - before[2], s.of(blocked) - before[3]}
	t.Logf("%.2f s at files by its own clock; io_wait %.2f, fsync_time %.2f, blocked %.2f s", want, got[0], got[1], got[2])
	// A goroutine's clock runs on while it waits behind each call until it may run again, and its thread for a CPU.
	if got[0] > 1.1*want || got[0] < 0.6*want || got[1] < 0.5*want || got[1] > got[0] {
		t.Errorf("it spent %.2f s at files; %.2f s were counted, %.2f of them in flushes", want, got[0], got[1])
	}
	if got[2] > 1.2*want {
		t.Errorf("threads are said to wait for %.2f s, and one waited for %.2f s at most", got[2], want)
	}
	detachClean(t, d, p.PID)
}
