package threadstats

import (
	"errors"
	"testing"
	"time"

	"culprit/internal/require"
)

// TestAKeeperRests: while nobody needs rows no program runs at switches, and nothing of that time is in the rows afterwards; then all is
// kept as before, of old threads, of new ones, and of a waiting one at once.
func TestAKeeperRests(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	a.act(t, "crowd 20")
	if k.Rest(0); k.Resting() {
		t.Fatal("it rests, and somebody needs run_queue_wait")
	}
	k.Release(RunQueueWait)
	if k.Rest(time.Hour); k.Resting() {
		t.Fatal("it rests at once")
	}
	a.parked(t)
	before, at := all(t, a.tab, a.index), now(t)
	if k.Rest(0); !k.Resting() {
		t.Fatal("it does not rest")
	}
	runs := switchesSeen(t, k)
	a.act(t, "switches 2000")
	a.act(t, "nap 200000000")
	a.act(t, "thin 0") // half of the crowd ends
	time.Sleep(50 * time.Millisecond)
	if more := switchesSeen(t, k) - runs; more != 0 {
		t.Errorf("%d switches were looked at meanwhile", more)
	}
	needed(t, k, RunQueueWait)
	risen(t, a, before, now(t)-at)

	voluntary, forced := switchesOf(t, a.PID, a.PID)
	sums, _ := a.change(t, "switches 2000")
	v, f := switchesOf(t, a.PID, a.PID)
	if sums[VoluntarySwitches] != v-voluntary || sums[ForcedSwitches] != f-forced || v-voluntary < 1500 {
		t.Errorf("afterwards %d and %d switches, the kernel says %d and %d", sums[VoluntarySwitches], sums[ForcedSwitches], v-voluntary, f-forced)
	}
	if sums, _ := a.change(t, "nap 50000000"); sums[BlockedSleep] < 50e6 || sums[BlockedSleep] > 1e9 || sums[Stolen] > 100e6 {
		t.Errorf("a sleep of 50 ms afterwards is %d ns, and %d ns are stolen", sums[BlockedSleep], sums[Stolen])
	}
	a.act(t, "reuse 50")
	if n := a.tab.Shared(); n != 0 {
		t.Errorf("%d threads found no row of their own", n)
	}
}

// risen holds the rows of a crowd, half of which has ended, against those before the rest.
func risen(t *testing.T, a *actor, before map[Quantity]int64, rest int64) {
	t.Helper()
	for q, v := range all(t, a.tab, a.index) {
		most := int64(20)
		if q.Nanoseconds() {
			most = rest / 2
		}
		if v-before[q] > most {
			t.Errorf("%s has grown by %d in a rest of %d ns", q, v-before[q], rest)
		}
	}
	live := 0
	for i, owner := range owned(a.tab) {
		if owner == 0 {
			t.Errorf("row %d belongs to nobody", i)
		}
		live++
	}
	if live != 11 {
		t.Errorf("%d rows of 11 threads", live)
	}
}

// switchesSeen is how often the program of switches has run.
func switchesSeen(t *testing.T, k *Keeper) uint64 {
	t.Helper()
	c, err := k.Cost()
	if errors.Is(err, ErrNotPermitted) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Switches
}

// TestProcessorTimeAfterARest: what a thread runs that was running when rows began to be kept again is that of the kernel's clock, within
// 2 % and two ticks, and what it waited for a processor in the rest was not stolen: nobody can steal more than there was since. Two
// threads share a processor, so that it is met running every other time.
func TestProcessorTimeAfterARest(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	for range 12 {
		a.act(t, "nap 1000000") // it has been seen to come and to leave
		a.parked(t)
		stolen := a.tab.Value(a.index, Stolen, now(t))
		k.Release(RunQueueWait)
		k.Rest(0)
		a.Say(t, "queue 2400")
		time.Sleep(1800 * time.Millisecond)
		at := now(t)
		needed(t, k, RunQueueWait)
		running := read(a.tab.mem, a.index*RowSize+SinceOff) == 0
		agree := timesAgree(t, a)
		stolen = a.tab.Value(a.index, Stolen, now(t)) - stolen
		if stolen > now(t)-at {
			t.Fatalf("%.3f ms were stolen in %.3f", float64(stolen)/1e6, float64(now(t)-at)/1e6)
		}
		if running && agree {
			return
		}
	}
	t.Error("they differ, or it was never met running")
}

// timesAgree says whether the processor time of the main thread, until it is done, is the same by its row and by the kernel's clock.
func timesAgree(t *testing.T, a *actor) bool {
	t.Helper()
	before, _ := schedstat(t, a.PID, a.PID)
	off, at := a.tab.Value(a.index, OffCPU, now(t)), now(t)
	a.Expect(t, "DONE", 10*time.Second)
	a.parked(t)
	row := now(t) - at - (a.tab.Value(a.index, OffCPU, now(t)) - off)
	after, _ := schedstat(t, a.PID, a.PID)
	ran := after - before
	t.Logf("%.3f ms by the row, %.3f ms by schedstat", float64(row)/1e6, float64(ran)/1e6)
	return max(row-ran, ran-row) < ran/50+8e6 && ran > 100e6
}
