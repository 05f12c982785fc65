package consultant

import (
	"fmt"
	"strings"
	"testing"

	"culprit/consultant/budget"
	"culprit/grid"
)

// What goes wrong around a search: limits that leave no room or have none, phases that are over at once, clocks that jump, and who measures and answers late
// or never. Nothing that was found is lost, and what is not known has a sentence.

// TestExtremeBudgets: with next to no budget what stack samples tell is told, nothing is taken that is not there, and what was not measured says why. With
// all the time of the program as the budget everything is measured.
func TestExtremeBudgets(t *testing.T) {
	for limit, tier := range map[float64]grid.Tier{0.0001: grid.TierSample, 1: grid.TierProbe} {
		m := newModel(crowd()...)
		r := newRig(t, m)
		r.s.budget = budget.New(limit)
		r.runUntil(60, "settled", r.s.Settled)
		n := r.node(cpuBound, code(grid.Whole(), "scan"))
		if b := r.only(); b.Node != n.ID || n.Tier != tier || strings.Contains(b.Sentence, "from stack samples") != (tier == grid.TierSample) {
			r.dump()
			t.Errorf("budget %g: %s by %s: %s", limit, n.State, n.Tier, b.Sentence)
		}
		if m.maxCost > limit {
			t.Errorf("budget %g: the cost rose to %g", limit, m.maxCost)
		}
		r.everythingIsSaid()
		m = newModel(crowd()...)
		m.samples = false
		r = newRig(t, m)
		r.s.budget = budget.New(limit)
		r.run(30)
		main := r.node(cpuBound, code(grid.Whole(), "main"))
		if want := map[bool]State{true: OverBudget, false: True}[limit < 0.01]; main.State != want || limit < 0.01 && !strings.Contains(main.Reason, "the budget is 0.01 %") {
			t.Errorf("budget %g without samples: main is %s: %s", limit, main.State, main.Reason)
		}
		r.everythingIsSaid()
	}
}

// everythingIsSaid fails the test unless what has no answer says why.
func (r *rig) everythingIsSaid() {
	r.Helper()
	for _, n := range r.s.Nodes() {
		answered := n.State == True || n.State == False || n.State == Testing
		if !answered && n.Reason == "" {
			r.Errorf("node %d, %s at %v, is %s, and nothing says why", n.ID, n.Hypothesis, n.Focus, n.State)
		}
	}
}

// TestShortPhases: phases that end before anything could be tested say so of each test, and the search of the whole session finds what it does without
// them.
func TestShortPhases(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	r := newRig(t, m)
	for i := range 40 {
		name := fmt.Sprint("brief ", i)
		if _, err := r.g.StartPhase(name); err != nil {
			t.Fatal(err)
		}
		r.s.StartPhase(name)
		r.run(0.3 * float64(i+1))
	}
	if n := r.node(cpuBound, code(grid.Whole(), "scan")); n.State != True {
		r.dump()
		t.Errorf("in the whole session scan is %s", n.State)
	}
	ended := 0
	for _, n := range r.s.Nodes() {
		if n.Phase.IsWhole() || n.Phase.End == 0 || n.Axis == "when" {
			continue
		}
		switch {
		case n.State == Never && n.Reason == "not tested: the phase ended":
			ended++
		case n.State != True && n.State != False:
			t.Errorf("in phase %s, which is over, %s is %s: %s", n.Phase.Name, n.Hypothesis, n.State, n.Reason)
		}
		if n.State == True && n.Since < n.Phase.Start-0.01 {
			t.Errorf("in phase %s, which began at %g s, %s is said to hold since %g s", n.Phase.Name, n.Phase.Start, n.Hypothesis, n.Since)
		}
	}
	if ended == 0 {
		t.Error("no test was ended by a phase")
	}
	r.run(m.now() + 5) // the last one goes on
	for _, k := range r.s.budget.ActiveKeys() {
		if r.s.graph.users[k] == 0 {
			t.Errorf("%v is measured, and nobody needs it", k)
		}
	}
	checkCounts(t, r.s.graph)
}

// TestClockJumps: the time goes on by an hour at once, as after a machine has slept, or goes back by some seconds. What was found stays, and what begins
// afterwards is found.
func TestClockJumps(t *testing.T) {
	for _, jump := range []float64{3600, -3} {
		const before = 20.0
		begins := before + jump + 10
		m := newModel(
			activity{stack: []string{"main", "first"}, kind: "cpu", rate: always(0.5)},
			activity{stack: []string{"main", "second"}, kind: "cpu", rate: between(begins, forever, 0.45)},
		)
		r := newRig(t, m)
		first := func() Node { return r.node(cpuBound, code(grid.Whole(), "first")) }
		r.run(before)
		if first().State != True {
			t.Fatalf("jump of %g s: first is %s before it", jump, first().State)
		}
		m.t += jump
		for m.now() < begins {
			r.m.advance(0.15)
			if r.turn(); first().State != True {
				r.dump()
				t.Fatalf("jump of %g s: first is %s after it", jump, first().State)
			}
		}
		at := r.runUntil(begins+30, "second is found", func() bool { return r.node(cpuBound, code(grid.Whole(), "second")).State == True })
		t.Logf("jump of %g s: found %.1f s after it began", jump, at-begins)
		if b := r.s.Bottlenecks(); len(b) != 2 || len(r.s.Earlier()) != 0 {
			r.dump()
			t.Errorf("jump of %g s: %d bottlenecks, %d are over", jump, len(b), len(r.s.Earlier()))
		}
		if s := r.node(cpuBound, code(grid.Whole(), "second")).Since; s < begins-0.5 || s > m.now() {
			t.Errorf("jump of %g s: second holds since %g s, it began at %g s", jump, s, begins)
		}
	}
}

// A slow grid is one that takes its time to enable what it is told, and to say what that will cost, and that gives no values of some pairs.
type slowGrid struct {
	*grid.Grid
	m      *model
	takes  float64 // s
	silent func(grid.PairKey) bool
}

func (g *slowGrid) Enable(keys ...grid.PairKey) []grid.EnableResult {
	g.m.advance(g.takes)
	return g.Grid.Enable(keys...)
}

func (g *slowGrid) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	g.m.advance(g.takes)
	prices, errs := g.Grid.Price(keys)
	return prices, errs
}

func (g *slowGrid) Intervals(k grid.PairKey, after float64) []grid.Interval {
	if g.silent(k) {
		return nil
	}
	return g.Grid.Intervals(k, after)
}

// TestGridAnswersLate: each answer takes seconds, and the bottleneck is found all the same.
func TestGridAnswersLate(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	r := newRig(t, m)
	r.s.cells = &slowGrid{r.g, m, 4, func(grid.PairKey) bool { return false }}
	at := r.runUntil(200, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
	t.Logf("found after %.1f s", at)
	r.everythingIsSaid()
}

// TestGridNeverAnswers: where no values come of some pairs, their tests end and say so, the others go on, and nothing of it is ruled out.
func TestGridNeverAnswers(t *testing.T) {
	m := newModel(
		activity{stack: deepStack, kind: "cpu", rate: always(0.9)},
		activity{stack: []string{"main", "log"}, kind: "sync", object: []string{"Mutex", "log_lock"}, rate: always(0.5)},
	)
	r := newRig(t, m)
	r.s.cells = &slowGrid{r.g, m, 0, func(k grid.PairKey) bool { return k.Metric == "sync_wait_inclusive" }}
	r.runUntil(60, "settled", r.s.Settled)
	if n := r.node(syncWait, grid.Whole()); n.State != Never || !strings.Contains(n.Reason, "no values arrived for 10.0 s") {
		t.Errorf("waits are %s: %s", n.State, n.Reason)
	}
	r.unpinned(syncWait)
	if b := r.only(); !strings.Contains(b.Sentence, "scan") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
	r.s.cells = &slowGrid{r.g, m, 0, func(grid.PairKey) bool { return true }}
	r.run(m.now() + 60)
	if n := r.node(cpuBound, code(grid.Whole(), "scan")); n.State != True {
		t.Errorf("scan is %s since no values come any longer", n.State)
	}
	r.everythingIsSaid()
}

// unpinned pins what cannot be tested, and no longer.
func (r *rig) unpinned(h string) {
	for _, on := range []bool{true, false} {
		if err := r.s.Pin(r.node(h, grid.Whole()).ID, on); err != nil {
			r.Error(err)
		}
		r.runUntil(r.m.now()+30, "given up", func() bool { return r.node(h, grid.Whole()).State == Never })
		if n := r.node(h, grid.Whole()); n.Pinned != on {
			r.Errorf("it is pinned: %v; asked for was %v", n.Pinned, on)
		}
	}
}

// TestGivenNeverApplies: a test that never applies to the program is no answer: its value is the threshold, which stands for none.
func TestGivenNeverApplies(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	r := newRig(t, m)
	list, parents := shipped()
	list[0].Test.Given(func(func(string) float64) bool { return false })
	cells := r.s.cells
	r.s = newSearch(r.s.cfg, list, parents)
	r.s.readFrom(cells)
	r.runUntil(30, "settled", r.s.Settled)
	n := r.node(cpuBound, grid.Whole())
	if n.State == True || n.Value != n.Threshold || n.Samples == 0 || len(r.s.Bottlenecks()) != 0 {
		r.dump()
		t.Errorf("%+v", n)
	}
	if n.State != False {
		t.Errorf("CPUbound is %s", n.State)
	}
	if n := r.node(cpuBound, code(grid.Whole(), "main")); n.ID != 0 {
		t.Errorf("main is %s: what does not apply was refined", n.State)
	}
}

// TestStoppedProgram: what is read while a signal has stopped the program rules nothing out, and begins no phase; what was found holds when it goes on.
func TestStoppedProgram(t *testing.T) {
	const stops, goes = 12.0, 32.0
	rate := func(at float64) float64 {
		if at > stops && at < goes {
			return 0
		}
		return 0.9
	}
	m := newModel(
		activity{stack: deepStack, kind: "cpu", rate: rate},
		activity{stack: []string{"main", "log"}, kind: "sync", object: []string{"Mutex", "log_lock"}, rate: rate},
	)
	r := newRig(t, m, func(w *world) {
		w.halted = func() bool { return m.now() > stops+0.4 && m.now() < goes+0.4 } // it is seen somewhat later
	})
	scan := func() Node { return r.node(cpuBound, code(grid.Whole(), "scan")) }
	r.runUntil(stops, "found", func() bool { return scan().State == True })
	r.findPhases(goes - 1)
	if n := scan(); n.State != True || len(r.s.Phases()) != 1 || len(r.s.Earlier()) != 0 {
		t.Errorf("stopped for %.0f s: %s, %d phases, over %+v", goes-stops-1, n.State, len(r.s.Phases()), r.s.Earlier())
	}
	r.findPhases(goes + 10)
	if n := scan(); n.State != True || len(r.s.Phases()) != 1 || len(r.s.Earlier()) != 0 || n.Value < 0.8 {
		t.Errorf("it goes on: %s, %g, %d phases, over %+v", n.State, n.Value, len(r.s.Phases()), r.s.Earlier())
	}
	for _, h := range scan().History {
		if h.Value < 0.5 && h.At > stops+1 {
			t.Errorf("%g was read at %.1f s", h.Value, h.At)
		}
	}
	for _, n := range r.s.Nodes() {
		if strings.Contains(n.Reason, "no values arrived") {
			t.Errorf("%s: %s", n.Hypothesis, n.Reason)
		}
	}
}
