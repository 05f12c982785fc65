package cost

import (
	"math"
	"os"
	"testing"
	"time"

	"culprit/grid"
	"culprit/pcl"
)

// TestRates: a rate is believed for a while, and gone with its function.
func TestRates(t *testing.T) {
	var r Rates
	if _, counted := r.Of(1); counted || r.Fresh(1, 0) {
		t.Error("a rate is known that nobody has counted")
	}
	r.Note(1, 1000, 5)
	r.Note(2, 0, 5)
	if rate, counted := r.Of(1); rate != 1000 || !counted {
		t.Errorf("%g, %v", rate, counted)
	}
	if rate, counted := r.Of(2); rate != 0 || !counted {
		t.Errorf("of what is not called: %g, %v", rate, counted)
	}
	if !r.Fresh(1, 5+rateAge-1) || r.Fresh(1, 5+rateAge) {
		t.Error("a rate is believed for another time than it should")
	}
	r.Forget(func(f pcl.FuncID) bool { return f == 1 })
	if _, counted := r.Of(1); counted {
		t.Error("the rate of a function that is gone")
	}
	if _, counted := r.Of(2); !counted {
		t.Error("a rate was lost")
	}
}

// planOf is a plan with a request for each function.
func planOf(kind pcl.Kind, funcs ...pcl.FuncID) *pcl.Plan {
	p := &pcl.Plan{Vars: []pcl.Var{{Kind: kind}}}
	for _, f := range funcs {
		p.Requests = append(p.Requests, pcl.Request{Func: f})
	}
	return p
}

// TestAdd: functions that are there have a price by how often they are called, timers a higher one than their trial says, and the time is shared
// by active threads.
func TestAdd(t *testing.T) {
	var r Rates
	r.Note(1, 1e6, 1)
	r.Note(2, 2e6, 1)
	r.Note(3, 4e6, 1)
	has := func(f pcl.FuncID) bool { return f != 3 }
	for _, c := range []struct {
		kind   pcl.Kind
		active float64
		want   float64
	}{
		{pcl.Counter, 0, 0.05}, {pcl.Counter, 1, 0.05}, {pcl.Counter, 5, 0.01},
		{pcl.WallTimer, 1, 0.05 * timerInProgram}, {pcl.ProcessTimer, 1, 0.05 * timerInProgram}, {pcl.Kernel, 1, 0.05},
	} {
		price := grid.Price{Points: 1, Rate: 5, Fraction: 1}
		Add(&price, planOf(c.kind, 1, 2, 3, 4), []float64{10, 20, 30, 40}, &r, c.active, has)
		if price.Points != 4 || price.Rate != 3e6+5 || math.Abs(price.Fraction-1-c.want) > 1e-9 {
			t.Errorf("kind %v of %g threads: %+v, want %g more", c.kind, c.active, price, c.want)
		}
	}
}

// TestClocks: a pair asks the kernel where statistics take a good part of the budget and asking takes less.
func TestClocks(t *testing.T) {
	for _, c := range []struct {
		name        string
		stats, more float64
		matter, ask bool
	}{
		{"few switches", 0.001, 0, false, false},
		{"many switches, few calls", 0.03, 0.001, true, true},
		{"many switches, many calls", 0.03, 0.04, true, false},
	} {
		clocks := Clocks{Statistics: c.stats, Budget: 0.02, Active: 2}
		if clocks.Matter() != c.matter || clocks.Ask(c.more) != c.ask {
			t.Errorf("%s: it matters: %v; ask: %v", c.name, clocks.Matter(), clocks.Ask(c.more))
		}
		if got := clocks.Share(); got != c.stats/2 {
			t.Errorf("%s: a share of %g", c.name, got)
		}
	}
	if got := Statistics(1e6); math.Abs(got-1e6*switchTime) > 1e-9 {
		t.Errorf("a million switches take %g CPUs", got)
	}
}

// TestAsking: what asking takes more is known where every function was counted.
func TestAsking(t *testing.T) {
	var r Rates
	r.Note(1, 1e6, 1)
	plan := planOf(pcl.ProcessTimer, 1, 1)
	more, known := Asking(plan, []float64{230, 230}, []float64{30, 30}, &r)
	if want := 2 * 1e6 * 200e-9 * timerInProgram; !known || math.Abs(more-want) > 1e-9 {
		t.Errorf("%g, %v, want %g", more, known, want)
	}
	if _, known := Asking(planOf(pcl.ProcessTimer, 1, 2), []float64{1, 1}, []float64{1, 1}, &r); known {
		t.Error("it is known of a function that was never counted")
	}
}

// TestIdle watches this process, which sleeps, and then computes.
func TestIdle(t *testing.T) {
	idle, err := WatchIdle(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	if woke, err := idle.Woke(); !woke || err != nil {
		t.Errorf("it computes: %v, %v", woke, err)
	}
	if IsIdle(0.5) || !IsIdle(0) {
		t.Error("what is idle is told wrongly")
	}
	if _, err := WatchIdle(1<<22 + 1); err == nil {
		t.Error("a process that is not there is watched")
	}
}
