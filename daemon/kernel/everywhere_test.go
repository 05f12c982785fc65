package kernel

import (
	"errors"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// eachWay runs a test with both ways of sampling processors.
func eachWay(t *testing.T, f func(t *testing.T, open func(t *testing.T) *Rings)) {
	require.Root(t)
	if _, err := newEverywhere(nil); errors.Is(err, errNamespace) {
		require.Skip(t, err.Error())
	}
	for name, way := range map[string]func(*Rings) (everywhere, error){
		"clocks": func(r *Rings) (everywhere, error) { return newClocks(r.rings) },
		"ticks":  func(r *Rings) (everywhere, error) { return newTicks(len(r.rings)) },
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			f(t, func(t *testing.T) *Rings {
				r, err := NewRings()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { r.Close() })
				if r.everywhere, err = way(r); err != nil {
					t.Fatal(err)
				}
				return r
			})
		})
	}
}

// sampled has a process sampled.
func sampled(t *testing.T, r *Rings, pid, hz int) *ProcessSampler {
	t.Helper()
	s, err := r.ProcessSampler(pid, hz)
	if err != nil {
		t.Fatal(err)
	}
	return s
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
func TestProcessSamplerSeesNobodyElse(t *testing.T) { eachWay(t, seesNobodyElse) }

func seesNobodyElse(t *testing.T, open func(t *testing.T) *Rings) {
	const hz = 67 // fewer than there are ticks
	p, q := target(t, "cpu.c"), target(t, "cpu.c")
	r := open(t)
	s := sampled(t, r, p.PID, hz)
	began := processorTime(t, p)
	n := count(r, 2*time.Second)
	ran := processorTime(t, p) - began
	t.Logf("%v of %d for %.3f s of processor time at %d Hz", n, p.PID, ran.Seconds(), hz)
	if want := hz * ran.Seconds(); len(n) != 1 || float64(n[p.PID]) < 0.7*want || float64(n[p.PID]) > 1.3*want {
		t.Errorf("%v of %d, want %.0f", n, p.PID, want)
	}
	other := sampled(t, r, q.PID, 2*hz)
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

// TestProcessSamplerMeetsTheWoken: a program that another one's timers wake is sampled like any other, for the time that it runs.
func TestProcessSamplerMeetsTheWoken(t *testing.T) { eachWay(t, meetsTheWoken) }

func meetsTheWoken(t *testing.T, open func(t *testing.T) *Rings) {
	const hz = 97
	p := target(t, "woken.c")
	r := open(t)
	sampled(t, r, p.PID, hz)
	began := processorTime(t, p)
	n := count(r, 5*time.Second)
	ran := processorTime(t, p) - began
	want := hz * ran.Seconds()
	t.Logf("%d samples for %.3f s of processor time at %d Hz, want %.0f", n[p.PID], ran.Seconds(), hz, want)
	if got := float64(n[p.PID]); got < 0.5*want || got > 2*want {
		t.Errorf("%.0f samples, want %.0f", got, want)
	}
}

// TestProcessSamplerChangesRate: fewer samples come when fewer are asked for, and more again afterwards.
func TestProcessSamplerChangesRate(t *testing.T) { eachWay(t, changesRate) }

func changesRate(t *testing.T, open func(t *testing.T) *Rings) {
	p := target(t, "cpu.c")
	r := open(t)
	s := sampled(t, r, p.PID, 67)
	defer s.Close()
	perSecond := func(hz int) float64 {
		if err := s.SetRate(hz); err != nil {
			t.Fatal(err)
		}
		r.Read(func(Sample) {})
		began := processorTime(t, p)
		n := count(r, 2*time.Second)
		return float64(n[p.PID]) / (processorTime(t, p) - began).Seconds()
	}
	few, many := perSecond(17), perSecond(67)
	t.Logf("%.1f samples a second where 17 are asked for, %.1f where 67 are", few, many)
	if few < 10 || few > 24 || many < 2*few {
		t.Error("the rate is not what was asked for")
	}
	if err := s.SetRate(0); err == nil {
		t.Error("a rate of 0 is taken")
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
func TestProcessSamplerFollowsThreads(t *testing.T) { eachWay(t, followsThreads) }

func followsThreads(t *testing.T, open func(t *testing.T) *Rings) {
	p := target(t, "churn.c")
	r := open(t)
	sampled(t, r, p.PID, 997)
	tids := map[int]bool{}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && len(tids) < 10; time.Sleep(20 * time.Millisecond) {
		r.Read(func(s Sample) { tids[s.TID] = true })
	}
	if len(tids) < 3 {
		t.Errorf("samples of %d threads", len(tids))
	}
}

// TestProcessSamplerTakesStacks holds its samples to what those of a Sampler are held to.
func TestProcessSamplerTakesStacks(t *testing.T) { eachWay(t, takesStacks) }

func takesStacks(t *testing.T, open func(t *testing.T) *Rings) {
	p := target(t, "cpu.c")
	r := open(t)
	sampled(t, r, p.PID, 499)
	samples := collect(&Sampler{Rings: r}, time.Second)
	if len(samples) < 50 {
		t.Fatalf("%d samples", len(samples))
	}
	checkReturnAddresses(t, p, samples)
	checkStackMemory(t, p, samples)
}

// TestLostTicksAreCounted has nobody read until there is no room.
func TestLostTicksAreCounted(t *testing.T) {
	eachWay(t, func(t *testing.T, open func(t *testing.T) *Rings) {
		p := target(t, "cpu.c")
		r := open(t)
		sampled(t, r, p.PID, 999)
		for began := time.Now(); r.Lost() == 0 && time.Since(began) < 20*time.Second; {
			time.Sleep(time.Second)
			r.Read(func(Sample) {})
		}
		if r.Lost() == 0 {
			t.Error("nothing was lost")
		}
	})
}

func TestProcessSamplerOfNobody(t *testing.T) { eachWay(t, ofNobody) }

func ofNobody(t *testing.T, open func(t *testing.T) *Rings) {
	p := target(t, "cpu.c")
	r := open(t)
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
