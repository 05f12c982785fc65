package daemon

import (
	"sync"
	"testing"
	"time"

	"culprit/daemon/cost"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestPriceOfSleepers asks what the calls of a function cost of a program that waits, which is not stopped for the answer, and of one that
// begins to run meanwhile, whose calls are counted.
func TestPriceOfSleepers(t *testing.T) {
	p := testprog.Start(t, "/bin/cat")
	d := attachTo(t, p.PID)
	for began := time.Now(); !cost.IsIdle(d.targets[0].Threads.Ran()); time.Sleep(tickInterval) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("cat does not fall asleep")
		}
	}
	calls := []grid.PairKey{key(t, "procedure_calls", "/Code/libc.so.6/read")}
	ask := func() (rate float64, stops int) {
		t.Helper()
		before := stopsOf(d)
		prices, errs := d.Price(calls)
		if errs[0] != nil || prices[0].Points == 0 {
			t.Fatalf("%+v, %v", prices[0], errs[0])
		}
		return prices[0].Rate, stopsOf(d) - before
	}
	if rate, stops := ask(); rate != 0 || stops != 0 {
		t.Errorf("asleep: %v calls a second, stopped %d times", rate, stops)
	}
	forgetRates(d)
	answered := make(chan struct{})
	var fed sync.WaitGroup
	fed.Go(func() {
		time.Sleep(cost.Window / 3)
		for {
			select {
			case <-answered:
				return
			default:
				p.Say(t, "to be read")
			}
		}
	})
	rate, stops := ask()
	close(answered)
	fed.Wait()
	if rate < 1 || stops == 0 {
		t.Errorf("woken up: %v calls a second, stopped %d times", rate, stops)
	}
	detachClean(t, d, p.PID)
}

func stopsOf(d *Daemon) int {
	d.lockAll()
	defer d.unlockAll()
	return d.targets[0].Stops.Count()
}

func forgetRates(d *Daemon) {
	d.lockAll()
	defer d.unlockAll()
	d.targets[0].Rates = cost.Rates{}
}
