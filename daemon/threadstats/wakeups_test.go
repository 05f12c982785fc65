package threadstats

import "testing"

// TestWakeupsAreKeptOnNeed: without the program of wake-ups a wait is one, and as long as before; with it what a thread then waits for a
// processor is told apart.
func TestWakeupsAreKeptOnNeed(t *testing.T) {
	k := opened(t)
	k.Release(RunQueueWait) // what opened has asked for
	if running(k.extra[needWakeups]) {
		t.Fatal("wake-ups are watched, and nobody needs them")
	}
	a := newActor(t, k)
	sums, _ := a.change(t, "nap 20000000")
	t.Logf("asleep %.3f ms, ready %.3f ms, off the processor %.3f ms", float64(sums[BlockedSleep])/1e6, float64(sums[RunQueueWait])/1e6, float64(sums[OffCPU])/1e6)
	if sums[OffCPU] < 20e6 || sums[BlockedSleep] < 20e6 || sums[RunQueueWait] > sums[Preempted] {
		t.Error("it slept for 20 ms and was never seen woken")
	}
	if err := k.Need(RunQueueWait); err != nil {
		t.Fatal(err)
	}
	if !running(k.extra[needWakeups]) {
		t.Error("wake-ups are needed, and not watched")
	}
	sums, _ = a.change(t, "nap 20000000")
	if sums[OffCPU] < 20e6 || sums[BlockedSleep] < 20e6 || sums[RunQueueWait] <= sums[Preempted] {
		t.Errorf("asleep %d ns, ready %d ns of %d off the processor", sums[BlockedSleep], sums[RunQueueWait], sums[OffCPU])
	}
}

// running reports whether programs are attached.
func running(all []*attached) bool { return len(all) > 0 && len(all[0].links) > 0 }
