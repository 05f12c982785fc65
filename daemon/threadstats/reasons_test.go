package threadstats

import (
	"fmt"
	"math"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestEveryWaitHasItsReason has a thread wait 100 ms for each thing that there is: at least that is added to the quantity, at most
// what the thread says that it took, and next to nothing to the others.
func TestEveryWaitHasItsReason(t *testing.T) { eachKernel(t, everyReason) }

func everyReason(t *testing.T, k *Keeper) {
	const tries = 3 // interrupts and a hypervisor take some hundred microseconds now and then
	for try := 1; !everyWait(t, k); try++ {
		if try == tries {
			t.Fatal("the parts are not the whole")
		}
	}
}

// everyWait lets the program wait in each way. It reports whether the parts of each wait make up the whole.
func everyWait(t *testing.T, k *Keeper) (whole bool) {
	t.Helper()
	p := testprog.Start(t, testprog.Build(t, "daemon/threadstats/testdata/reasons.c"))
	var tp uint64
	var steps int
	if _, err := fmt.Sscanf(p.Expect(t, "READY", 10*time.Second), "READY %d %d", &tp, &steps); err != nil {
		t.Fatal(err)
	}
	tab := watched(t, k, p.PID, 64)
	p.Say(t, "")
	index := found(t, tab, tp)
	whole = true
	for range steps {
		name := p.Expect(t, "NEXT", 10*time.Second)[len("NEXT "):]
		if name == "none" {
			require.Skip(t, "needs userfaultfd for a page fault that waits")
		}
		q, ok := ByName(name)
		if !ok {
			t.Fatalf("%q is no quantity", name)
		}
		whole = oneWait(t, p, tab, index, q) && whole
	}
	if code := p.Wait(t, 10*time.Second); code != 0 {
		t.Errorf("status %d", code)
	}
	tab.Close()
	return whole
}

// oneWait lets the thread wait once. It stands in a read of its standard input before and after that, which is a pipe.
func oneWait(t *testing.T, p *testprog.Prog, tab *Table, index int, q Quantity) (whole bool) {
	t.Helper()
	const least = 99e6 // a timer may run while the thread still does
	began, before := now(t), all(t, tab, index)
	p.Say(t, "")
	var took int64
	if _, err := fmt.Sscanf(p.Expect(t, "WAITED", 10*time.Second), "WAITED %d", &took); err != nil {
		t.Fatal(err)
	}
	after, ended := all(t, tab, index), now(t)
	if q == BlockedPipe {
		took = ended - began
	}
	p.Say(t, "")
	for r := BlockedFutex; r <= BlockedOther; r++ {
		got := after[r] - before[r]
		switch {
		case r == q && (got < least || got > took):
			t.Errorf("%s: %.3f ms of %.3f", q, float64(got)/1e6, float64(took)/1e6)
		case r == q:
			t.Logf("%-15s %.3f ms of %.3f, off %.3f, waited for a processor %.3f", q, float64(got)/1e6, float64(took)/1e6,
				float64(after[OffCPU]-before[OffCPU])/1e6, float64(after[RunQueueWait]-before[RunQueueWait])/1e6)
		case r != BlockedPipe && got > 10e6:
			t.Errorf("waiting for %s: %.3f ms of %s", q, float64(got)/1e6, r)
		}
	}
	// The whole is by the scheduler's account, which charges a switch to one thread or the other; the parts are by the clock.
	if sum := accounted(after) - accounted(before); math.Abs(float64(sum-(after[OffCPU]-before[OffCPU]))) > 200e3 {
		t.Logf("%s: the parts are %d ns, the whole is %d", q, sum, after[OffCPU]-before[OffCPU])
		return false
	}
	return true
}

// accounted is all that off_cpu consists of.
func accounted(m map[Quantity]int64) int64 {
	sum := m[RunQueueWait]
	for r := BlockedFutex; r <= BlockedOther; r++ {
		sum += m[r]
	}
	return sum
}
