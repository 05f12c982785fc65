package consultant

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/consultant/history"
	"culprit/consultant/hypotheses"
	"culprit/grid"
	"culprit/pcl"
)

func twoLevels() *model {
	return newModel(
		activity{stack: []string{"main", "work", "inner"}, kind: "cpu", rate: always(0.8)},
		activity{stack: []string{"main", "other", "small"}, kind: "cpu", rate: always(0.1)},
	)
}

func TestPruneAndRetest(t *testing.T) {
	r := newRig(t, twoLevels())
	r.runUntil(20, "settled", r.s.Settled)
	work, inner := code(grid.Whole(), "work"), code(grid.Whole(), "inner")
	id := r.node(cpuBound, work).ID
	if err := r.s.Prune(id); err != nil {
		t.Fatal(err)
	}
	for _, f := range []grid.Focus{work, inner} {
		if n := r.node(cpuBound, f); n.State != Pruned {
			t.Errorf("%v is %s after the prune", f, n.State)
		}
	}
	r.run(r.m.now() + 5)
	if _, on := r.m.sinks[grid.PairKey{Metric: "cpu_inclusive", Focus: inner}]; on {
		t.Error("a pruned node is still measured")
	}
	if b := r.only(); !strings.Contains(b.Sentence, "main") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
	if err := r.s.Retest(r.node(cpuBound, inner).ID); err != nil {
		t.Fatal(err)
	}
	r.runUntil(r.m.now()+10, "tested again", func() bool { return r.node(cpuBound, inner).State == True })
	if !slices.ContainsFunc(r.events, func(e Event) bool { return strings.Contains(e.Text, "pruned by hand") }) {
		t.Error("no event says that a node was pruned")
	}
}

func TestPin(t *testing.T) {
	r := newRig(t, twoLevels())
	r.runUntil(20, "settled", r.s.Settled)
	other := code(grid.Whole(), "other")
	n := r.node(cpuBound, other)
	if n.State == True {
		t.Fatal("other is true")
	}
	if err := r.s.Pin(n.ID, true); err != nil {
		t.Fatal(err)
	}
	r.run(r.m.now() + 10)
	key := grid.PairKey{Metric: "cpu_inclusive", Focus: other}
	n = r.node(cpuBound, other)
	if _, on := r.m.sinks[key]; !on || !n.Pinned || n.State != False || n.Samples < 40 {
		t.Errorf("pinned: measured %v, %+v", on, n)
	}
	if err := r.s.Pin(n.ID, false); err != nil {
		t.Fatal(err)
	}
	r.run(r.m.now() + 1)
	if _, on := r.m.sinks[key]; on {
		t.Error("still measured after it was unpinned")
	}
}

// A value that rises slowly is beyond the threshold before that is sure: the node is not false then.
func TestNothingIsRuledOutAboveItsThreshold(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "rising"}, kind: "cpu", rate: func(at float64) float64 { return 0.1 + at/100 }})
	r := newRig(t, m)
	doubts := 0
	for m.now() < 60 {
		r.run(m.now() + 0.3)
		for _, n := range r.s.Nodes() {
			if n.State == False && n.Samples > 0 && (n.Value > n.Threshold) == n.Greater && n.Value != n.Threshold {
				t.Errorf("after %.1f s %s at %s is false: %v, threshold %v", m.now(), n.Hypothesis, explain.Focus(n.Focus), n.Value, n.Threshold)
			}
			if n.State == Testing && n.Reason == inDoubt {
				doubts++
			}
		}
	}
	if n := r.node(cpuBound, grid.Whole()); doubts == 0 || n.State != True {
		t.Errorf("%d times in doubt, and at the end it is %s: that shows nothing", doubts, n.State)
	}
}

// TestUnseenIsNotRuledOut: where a part of what a hypothesis is about cannot be seen it is not ruled out, and the reason is given; what is seen to
// hold is told.
func TestUnseenIsNotRuledOut(t *testing.T) {
	r := newRig(t, twoLevels())
	const why = "goroutines wait without a thread"
	r.w.unseen = func(metric string) string {
		if strings.HasPrefix(metric, "io") {
			return ""
		}
		return why
	}
	r.runUntil(20, "settled", r.s.Settled)
	states := map[State]int{}
	for _, n := range r.s.Nodes() {
		if n.Samples == 0 {
			continue
		}
		states[n.State]++
		if unseen := n.Hypothesis != "ExcessiveIOBlockingTime"; unseen && n.State == False || n.State == Testing && n.Reason != why {
			t.Errorf("%s at %s: %s, %q", n.Hypothesis, explain.Focus(n.Focus), n.State, n.Reason)
		}
	}
	if said := r.s.Status(); !strings.Contains(said, strconv.Itoa(states[Testing])+" cannot be ruled out") {
		t.Errorf("%d are not ruled out, and the status is %q", states[Testing], said)
	}
	if states[True] == 0 || states[Testing] == 0 {
		t.Errorf("%v: that shows nothing", states)
	}
}

func TestExpandFalseNode(t *testing.T) {
	r := newRig(t, twoLevels())
	r.m.samples = false
	r.run(2.0)
	other := code(grid.Whole(), "other")
	r.runUntil(20, "settled", r.s.Settled)
	n := r.node(cpuBound, other)
	if err := r.s.Expand(n.ID); err != nil {
		t.Fatal(err)
	}
	r.runUntil(r.m.now()+10, "small tested", func() bool { return r.node(cpuBound, code(grid.Whole(), "small")).State == False })
	if err := r.s.Expand(n.ID); err == nil {
		t.Error("expanded twice without an error")
	}
}

func TestBadIDs(t *testing.T) {
	r := newRig(t, twoLevels())
	for name, f := range map[string]func(int) error{
		"Expand": r.s.Expand, "Prune": r.s.Prune, "Retest": r.s.Retest, "Pin": func(id int) error { return r.s.Pin(id, true) },
	} {
		for _, id := range []int{-1, 0, 99} {
			if err := f(id); err == nil || !strings.Contains(err.Error(), "no node") {
				t.Errorf("%s(%d): %v", name, id, err)
			}
		}
		if err := f(1); name != "Expand" && err == nil {
			t.Errorf("%s of the root gave no error", name)
		}
	}
}

func TestPhases(t *testing.T) {
	m := newModel(
		activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, 20, 0.9)},
		activity{stack: []string{"main", "second"}, kind: "cpu", rate: between(20, 1e9, 0.9)},
	)
	r := newRig(t, m)
	r.run(20)
	if _, err := r.g.StartPhase("later"); err != nil {
		t.Fatal(err)
	}
	p := r.s.StartPhase("later")
	r.run(35)
	in := func(function string) Node {
		for _, n := range r.s.Nodes() {
			if n.Phase.Name == "later" && n.Hypothesis == cpuBound && n.Focus == code(grid.Whole(), function) {
				return n
			}
		}
		return Node{}
	}
	if n := in("second"); n.State != True || n.Since < p.Start-0.01 {
		r.dump()
		t.Errorf("second in the phase: %+v", n)
	}
	if n := in("first"); n.State == True || n.State == Testing {
		t.Errorf("first in the phase: %+v", n)
	}
	found := false
	for _, b := range r.s.Bottlenecks() {
		found = found || strings.Contains(b.Sentence, "second") && strings.Contains(b.Sentence, "in phase later")
	}
	if !found {
		r.dump()
		t.Error("no sentence names the phase")
	}
	id := in("second").ID
	r.s.StartPhase("")
	for _, n := range r.s.graph.nodes {
		if n.phase == r.s.phases[1] && (n.watched || n.open()) {
			t.Errorf("node %d is %s, watched %v, after its phase", n.id, n.state, n.watched)
		}
	}
	if ps := r.s.Phases(); len(ps) != 3 || ps[1].End == 0 || ps[2].Name != "phase 2" || ps[0].End != 0 {
		t.Errorf("phases %v", ps)
	}
	if err := r.s.Retest(id); err == nil || !strings.Contains(err.Error(), "over") {
		t.Errorf("retest in a phase that is over: %v", err)
	}
	for _, n := range r.s.Nodes() {
		if n.Axis == "when" && n.ID != 1 && (len(n.Parents) != 1 || n.Parents[0] != 1) {
			t.Errorf("root of a phase has parents %v", n.Parents)
		}
	}
}

func TestSuppressed(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "memcpy"}, kind: "cpu", rate: always(0.9)})
	r := newRig(t, m)
	r.s.top.Children[0].Suppress = []string{"/Code/a.c/mem*", "bad", "/Nowhere/x"}
	r.runUntil(20, "settled", r.s.Settled)
	n := r.node(cpuBound, code(grid.Whole(), "memcpy"))
	if n.State != Never || !strings.Contains(n.Reason, "suppresses /Code/a.c/mem*") {
		t.Errorf("%+v", n)
	}
	if b := r.only(); !strings.Contains(b.Sentence, "main") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
}

func TestSearchWithoutHypotheses(t *testing.T) {
	for _, cfg := range []Config{{}, {Hypotheses: []*pcl.Hypothesis{{Name: "a", Parent: "b"}}}} {
		s := New(cfg)
		if err := s.Run(background); err == nil {
			t.Error("an empty configuration runs")
		}
		if s.Status() == "" || s.Nodes()[0].Hypothesis != hypotheses.TopName || len(s.Bottlenecks()) != 0 {
			t.Error("an empty search cannot be looked at")
		}
	}
}

// child hypotheses are tested where their parent holds.
func TestWhyRefinement(t *testing.T) {
	r := newRig(t, twoLevels())
	list, parents := shipped()
	sub := &hypothesis{
		Name: "HalfOfIt", Label: "{function} is half of it: {value}", Why: true, Where: true,
	}
	list, parents = append(list, sub.With(decide.NewTest([]string{"cpu_inclusive"}, nil, true,
		func(get func(string) float64) float64 { return 100 * get("cpu_inclusive") },
		func(func(string) float64) float64 { return 50 }))), append(parents, cpuBound)
	cells := r.s.cells
	r.s = newSearch(r.s.cfg, list, parents)
	r.s.readFrom(cells)
	r.runUntil(30, "settled", r.s.Settled)
	for _, f := range []grid.Focus{grid.Whole(), code(grid.Whole(), "inner")} {
		if n := r.node("HalfOfIt", f); n.State != True || n.Axis != "why" {
			r.dump()
			t.Errorf("HalfOfIt at %v: %+v", f, n)
		}
	}
	for _, b := range r.s.Bottlenecks() {
		if b.Severity > 1 {
			t.Errorf("severity %g of %s", b.Severity, b.Sentence)
		}
	}
}

// Run in real time, with the user at the same time; -race watches.
func TestRunConcurrently(t *testing.T) {
	m := twoLevels()
	r := newRig(t, m)
	ctx, cancel := context.WithTimeout(background, 2500*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewSource(3))
			for ctx.Err() == nil {
				nodes := r.s.Nodes()
				id := nodes[rng.Intn(len(nodes))].ID
				switch rng.Intn(8) {
				case 0:
					_ = r.s.Expand(id)
				case 1:
					_ = r.s.Prune(id)
				case 2, 3:
					_ = r.s.Retest(id)
				case 4:
					_ = r.s.Pin(id, rng.Intn(2) == 0)
				case 5:
					_ = r.s.Nodes()
				case 6:
					_, _ = r.s.Bottlenecks(), r.s.Status()
				case 7:
					if rng.Intn(20) == 0 {
						r.s.StartPhase("")
					}
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			m.advance(0.1)
			time.Sleep(10 * time.Millisecond)
		}
	})
	if err := r.s.Run(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if len(m.sinks) != 0 {
		t.Errorf("%d pairs are still enabled after Run", len(m.sinks))
	}
	for _, p := range r.g.Pairs() {
		if p.Enabled {
			t.Errorf("%v is still enabled", p.Key)
		}
	}
}

func TestRunEndsWhenNothingIsLeft(t *testing.T) {
	m := twoLevels()
	m.enableErr = func(grid.PairKey, int) error { return grid.ErrRefused{Point: "all", Reason: "a test"} }
	r := newRig(t, m)
	ctx, cancel := context.WithTimeout(background, 10*time.Second)
	defer cancel()
	if err := r.s.Run(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("Run: %v, context %v", err, ctx.Err())
	}
}

// Random programs: invariants that hold for all of them.
func TestInvariants(t *testing.T) {
	for seed := range int64(25) {
		rng := rand.New(rand.NewSource(seed))
		var acts []activity
		for range 1 + rng.Intn(12) {
			stack := []string{"main"}
			for range rng.Intn(7) {
				stack = append(stack, fmt.Sprintf("f%d", rng.Intn(15)))
			}
			kind := []string{"cpu", "cpu", "sync", "io"}[rng.Intn(4)]
			object := map[string][]string{"sync": {"Mutex", fmt.Sprintf("m%d", rng.Intn(3))}, "io": {"File", "/f"}}[kind]
			from := 20 * rng.Float64() * float64(rng.Intn(2))
			acts = append(acts, activity{stack: stack, kind: kind, object: object, rate: between(from, from+5+40*rng.Float64(), 0.5*rng.Float64())})
		}
		m := newModel(acts...)
		m.samples = rng.Intn(2) == 0
		m.noise = 0.5 * rng.Float64()
		fraction := 0.006 * rng.Float64()
		m.predict = func(k grid.PairKey) (grid.Price, error) {
			if len(k.String())%7 == 0 {
				return grid.Price{Fraction: 0.5}, nil
			}
			return grid.Price{Fraction: fraction}, nil
		}
		m.enableErr = func(k grid.PairKey, try int) error {
			if len(k.String())%11 == 0 && try < 3 {
				return grid.ErrDeferred{Reason: "busy"}
			}
			return nil
		}
		r := newRig(t, m)
		r.run(45)
		if m.maxCost > 0.02+1e-9 || m.overdone > 0 {
			t.Errorf("seed %d: cost %g, %d batches over budget", seed, m.maxCost, m.overdone)
		}
		checkGraph(t, seed, r)
		r.s.leave()
		if len(m.sinks) != 0 {
			t.Errorf("seed %d: %d pairs left", seed, len(m.sinks))
		}
	}
}

func checkGraph(t *testing.T, seed int64, r *rig) {
	t.Helper()
	type identity struct {
		hyp   string
		focus grid.Focus
		phase string
	}
	seen := map[identity]bool{}
	for i, n := range r.s.Nodes() {
		k := identity{n.Hypothesis, n.Focus, n.Phase.Name}
		if n.ID != i+1 || seen[k] || n.ID > 1 && len(n.Parents) == 0 {
			t.Errorf("seed %d: node %+v", seed, n)
		}
		seen[k] = true
		if n.Confidence < 0 || n.Confidence >= 1 || len(n.History) > history.Max {
			t.Errorf("seed %d: node %d: confidence %g", seed, n.ID, n.Confidence)
		}
		if (n.State == Never || n.State == OverBudget || n.State == Deferred) && n.Reason == "" {
			t.Errorf("seed %d: node %d is %s without a reason", seed, n.ID, n.State)
		}
	}
	checkCounts(t, r.s.graph)
	for _, n := range r.s.graph.nodes {
		for _, p := range n.parents {
			if n.above(p) {
				t.Errorf("seed %d: a circle at node %d", seed, n.id)
			}
		}
		if n.state == Testing && r.m.now()-n.started > quietPatience+stallTime {
			t.Errorf("seed %d: node %d has been tested for %.0f s", seed, n.id, r.m.now()-n.started)
		}
	}
	for _, b := range r.s.Bottlenecks() {
		if b.Chain[0] != 1 || b.Chain[len(b.Chain)-1] != b.Node || b.Sentence == "" {
			t.Errorf("seed %d: %+v", seed, b)
		}
	}
}
