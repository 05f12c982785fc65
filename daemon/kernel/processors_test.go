package kernel

import (
	"errors"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// everywhere opens rings, and has a process sampled on all processors.
func everywhere(t *testing.T, pid, hz int) (*Rings, *ProcessSampler) {
	t.Helper()
	require.Root(t)
	r, err := NewRings()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s, err := r.ProcessSampler(pid, hz)
	if errors.Is(err, errNamespace) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

// count reads for a while and counts samples by process.
func count(r *Rings, d time.Duration) map[int]int {
	n := map[int]int{}
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r.Read(func(s Sample) { n[s.PID]++ })
	}
	return n
}

// TestProcessSamplerSeesNobodyElse has two programs compute, of which one is asked for, and then both, and then neither.
func TestProcessSamplerSeesNobodyElse(t *testing.T) {
	noLeak(t)
	p, q := target(t, "cpu.c"), target(t, "cpu.c")
	r, s := everywhere(t, p.PID, 200)
	began := processorTime(t, p)
	n := count(r, time.Second)
	ran := processorTime(t, p) - began
	t.Logf("%v of %d for %.3f s of processor time at 200 Hz", n, p.PID, ran.Seconds())
	if want := 200 * ran.Seconds(); len(n) != 1 || float64(n[p.PID]) < 0.7*want || float64(n[p.PID]) > 1.3*want {
		t.Errorf("%v of %d, want %.0f", n, p.PID, want)
	}
	other, err := r.ProcessSampler(q.PID, 400)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(r, 500*time.Millisecond); n[p.PID] == 0 || n[q.PID] == 0 || len(n) != 2 {
		t.Errorf("%v of %d and %d", n, p.PID, q.PID)
	}
	other.Close()
	r.Read(func(Sample) {})
	if n := count(r, 300*time.Millisecond); n[p.PID] == 0 || n[q.PID] != 0 {
		t.Errorf("%v: %d is still sampled", n, q.PID)
	}
	s.Close()
	s.Close()
	r.Read(func(Sample) {})
	if n := count(r, 300*time.Millisecond); len(n) != 0 {
		t.Errorf("%v: nobody asked", n)
	}
}

// processorTime is what a program's first thread ran.
func processorTime(t *testing.T, p *testprog.Prog) time.Duration {
	t.Helper()
	times, err := ReadThread(p.PID, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	return times.Run
}

// TestProcessSamplerFollowsThreads: nobody tells it of threads.
func TestProcessSamplerFollowsThreads(t *testing.T) {
	noLeak(t)
	p := target(t, "churn.c")
	r, _ := everywhere(t, p.PID, 997)
	tids := map[int]bool{}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && len(tids) < 10; time.Sleep(20 * time.Millisecond) {
		r.Read(func(s Sample) { tids[s.TID] = true })
	}
	if len(tids) < 3 {
		t.Errorf("samples of %d threads", len(tids))
	}
}

// TestProcessSamplerTakesStacks holds its samples to what those of a Sampler are held to.
func TestProcessSamplerTakesStacks(t *testing.T) {
	p := target(t, "cpu.c")
	r, _ := everywhere(t, p.PID, 499)
	s := &Sampler{Rings: r}
	samples := collect(s, time.Second)
	if len(samples) < 50 {
		t.Fatalf("%d samples", len(samples))
	}
	checkReturnAddresses(t, p, samples)
	checkStackMemory(t, p, samples)
}

func TestProcessSamplerOfNobody(t *testing.T) {
	p := target(t, "cpu.c")
	r, _ := everywhere(t, p.PID, 99)
	if _, err := r.ProcessSampler(p.PID, 0); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("0 Hz: %v", err)
	}
	p.Kill()
	if _, err := r.ProcessSampler(p.PID, 99); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	r.Close()
	if _, err := r.ProcessSampler(p.PID, 99); err == nil {
		t.Error("closed rings sample")
	}
}
