package daemon

import (
	"errors"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestListing: the code of a metric is listed with its places and its price, and nothing is put in for that; what cannot be
// measured has the error of Enable.
func TestListing(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/called.c"), "1", "10")
	d := attachWith(t, callMetrics, p.PID)
	list := func(metric, focus string) Listing {
		t.Helper()
		l, err := d.Disassemble(key(t, metric, focus), 8)
		if err != nil || len(l) != 1 {
			t.Fatalf("%s at %s: %v, %d listings", metric, focus, err, len(l))
		}
		return l[0]
	}
	timer := list("exec_time_inclusive", "/Code/called.c/mix")
	if len(timer.Sites) < 2 || !strings.Contains(timer.Plan, "called.c/mix.entry") || timer.PriceNS < 2 || timer.PriceNS > 10000 {
		t.Errorf("%d sites, %.2f ns:\n%s", len(timer.Sites), timer.PriceNS, timer.Plan)
	}
	for _, s := range timer.Sites {
		text := ""
		for _, in := range s.Code {
			text += in.Text + "\n"
		}
		if s.Function != "called.c/mix" || !strings.Contains(text, "rdtsc") || strings.Contains(text, "(bad)") || len(s.Points) != 1 || s.PriceNS != timer.PriceNS {
			t.Errorf("%+v\n%s", s, text)
		}
	}
	tg := d.targets[0]
	stops, islands := tg.Stops.Count(), len(tg.Seg.Islands) // where handlers lead is known by now
	counter := list("procedure_calls", "/Code/called.c/mix")
	call := list("sent_bytes", "/")
	if counter.PriceNS >= timer.PriceNS || call.PriceNS <= timer.PriceNS {
		t.Errorf("a counter costs %.2f ns, a timer %.2f, a call %.2f", counter.PriceNS, timer.PriceNS, call.PriceNS)
	}
	if k := list("cpu", "/"); k.Kernel != "cpu_time" || len(k.Sites) > 0 {
		t.Errorf("cpu: %+v", k)
	}
	if all := list("procedure_calls", "/Code/called.c"); len(all.Sites) != 8 || all.Left == 0 {
		t.Errorf("%d of the module's sites, and %d more", len(all.Sites), all.Left)
	}
	if _, err := d.Disassemble(key(t, "nothing", "/"), 8); !errors.As(err, &grid.ErrUnknownMetric{}) {
		t.Errorf("unknown metric: %v", err)
	}
	if n := tg.Stops.Count() - stops; n != 0 || len(tg.Seg.Islands) != islands {
		t.Errorf("the target was stopped %d times for listings, and has %d islands where it had %d", n, len(tg.Seg.Islands), islands)
	}
	for _, s := range tg.Text.Sites() {
		if s.Patched() || !s.Empty() {
			t.Errorf("something was put in at %#x", s.Addr)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
