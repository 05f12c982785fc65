package daemon

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestFamilyIsLookedAt: a tree of many processes is measured without touching any of them, those included that begin later, and no time
// of their threads is lost although few can be looked at in a round.
func TestFamilyIsLookedAt(t *testing.T) {
	children := rounds(40, 150)
	const more = 5
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/crowd.c"), fmt.Sprint(children), "3", "20000")
	d, err := Attach(context.Background(), Options{Library: library(t), Children: true, Backend: grid.BackendSample, Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	d.awaitTargets(t, 1+children)
	d.Known()
	p.Say(t, "go")
	time.Sleep(time.Second) // each thread was seen once
	works := key(t, "exec_time_inclusive", "/Code/crowd.c/works")
	alive := func() (threads, used float64) {
		var s sums
		before := d.Overhead().DaemonCPU * d.Now()
		results := d.Enable([]grid.PairKey{works}, &s)
		if r := results[0]; r.Err != nil || r.Tier != grid.TierSample {
			t.Fatalf("%+v", r)
		}
		time.Sleep(1500 * time.Millisecond)
		d.Disable([]grid.PairKey{works})
		span := d.Now() - results[0].Since
		return s.of(works) / span, (d.Overhead().DaemonCPU*d.Now() - before) / span
	}
	for n := children; n <= children+more; n += more {
		if n > children {
			p.Say(t, fmt.Sprintf("more %d", more))
			p.Expect(t, "BORN", 10*time.Second)
			d.awaitTargets(t, 1+n)
			time.Sleep(time.Second)
		}
		threads, used := alive()
		t.Logf("%d processes: %.1f s/s in the function that two threads of each began with; culprit used %.1f %% of a processor", n, threads, 100*used)
		if math.Abs(threads-2*float64(n)) > 0.05*2*float64(n) {
			t.Errorf("%.1f of %d threads", threads, 2*n)
		}
	}
	for _, tg := range d.targets {
		if tg.Stops.Count() != 0 || tg.Seg != nil {
			t.Errorf("%s was stopped %d times", tg.Name, tg.Stops.Count())
		}
	}
	detachTree(t, d)
	p.Stop(t)
}
