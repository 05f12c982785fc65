package consultant

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"culprit/consultant/bins"
	"culprit/consultant/prior"
	"culprit/grid"
)

// The search is compared with fixed rules, those of Paradyn's Performance Consultant: each test lasts six seconds whatever it says, places are tested one level
// after the other, and a probe is thought to run a hundred times a second. Both search in the same scripted programs, within the same budget.

const (
	fixedTime   = 6.0   // s for which a test must say the same; Paradyn's sufficientTime
	fixedRange  = 0.05  // of the threshold; Paradyn's hysteresisRange
	fixedCalls  = 100.0 // calls/s that each probe is thought to count; Paradyn's default
	searchLimit = 90.0  // s after which a search has not found what was not concluded
	noises      = 5     // searches in each program, which differ in its noise
)

// A fixedSearch tests hypotheses by the fixed rules.
type fixedSearch struct {
	m     *model
	g     *grid.Grid
	nodes []*fixedNode // in the order in which they are started
	on    map[grid.PairKey]bool
}

// A fixedNode is a hypothesis at a focus.
type fixedNode struct {
	hyp   *hypothesis
	focus grid.Focus
	via   grid.Hierarchy // that led here; Code at the whole program
	state State
	kids  []*fixedNode
	plan  []grid.Hierarchy // along which it is still to be refined

	next  float64   // s; where the readings begin that were not read
	sums  []float64 // of the metrics over time
	span  float64   // s of all readings
	guess bool
	since float64 // s; when the guess became what it is
}

func newFixedSearch(m *model, hyps []*hypothesis) *fixedSearch {
	s := &fixedSearch{m: m, g: grid.New(m, lookup, m.now), on: map[grid.PairKey]bool{}}
	for _, h := range hyps {
		s.add(h, grid.Whole(), grid.Code)
	}
	return s
}

// add returns the node of a hypothesis at a focus; a new one waits for its test.
func (s *fixedSearch) add(h *hypothesis, f grid.Focus, via grid.Hierarchy) *fixedNode {
	if n := s.node(h.Name, f); n != nil {
		return n
	}
	n := &fixedNode{hyp: h, focus: f, via: via, state: Queued, next: math.Inf(1), sums: make([]float64, len(h.Metrics))}
	s.nodes = append(s.nodes, n)
	return n
}

func (s *fixedSearch) node(hyp string, f grid.Focus) *fixedNode {
	for _, n := range s.nodes {
		if n.hyp.Name == hyp && n.focus == f {
			return n
		}
	}
	return nil
}

func (s *fixedSearch) turn() {
	for _, n := range slices.Clone(s.nodes) {
		s.observe(n)
		s.refine(n)
	}
	s.start()
}

// start starts the tests that wait, in their order, as far as the observed cost and what they are thought to cost fit into the budget.
func (s *fixedSearch) start() {
	load := s.g.ObservedCost()
	for _, n := range s.nodes {
		if n.state != Queued {
			continue
		}
		var keys []grid.PairKey
		for _, k := range n.hyp.Pairs(n.focus) {
			if s.on[k] {
				continue
			}
			keys = append(keys, k)
			if k.Focus != grid.Whole() { // the kernel keeps the others
				load += fixedCalls * perCall
			}
		}
		if load > defaultBudget {
			return
		}
		for _, k := range keys {
			s.on[k] = true
		}
		s.g.Enable(keys...)
		n.state, n.next = Testing, s.m.now()
	}
}

// observe takes what is new at a node, and concludes when the average of all its readings has been on one side of the threshold for long enough. A false node
// is not measured any longer, but at the whole program.
func (s *fixedSearch) observe(n *fixedNode) {
	if math.IsInf(n.next, 1) {
		return
	}
	var all [][]grid.Interval
	for _, k := range n.hyp.Pairs(n.focus) {
		all = append(all, s.g.Intervals(k, n.next))
	}
	rows, next := bins.Rows(all, n.next)
	n.next = next
	for _, r := range rows {
		n.take(r.Start, r.End, r.Values)
		if r.End-n.since < fixedTime-1e-9 {
			continue
		}
		switch {
		case n.guess && n.state != True:
			n.state = True
			n.plan = slices.Clone(n.hyp.Refine)
			if i := slices.Index(n.plan, n.via); i > 0 {
				n.plan = slices.Insert(slices.Delete(n.plan, i, i+1), 0, n.via)
			}
		case !n.guess && n.state != False:
			n.state = False
		}
	}
	if n.state == False && n.focus != grid.Whole() {
		n.next = math.Inf(1)
		for _, k := range n.hyp.Pairs(n.focus) {
			if k.Focus == n.focus {
				s.g.Disable(k)
				delete(s.on, k)
			}
		}
	}
}

// take adds a reading to the average, and guesses by it whether the node is true.
func (n *fixedNode) take(start, end float64, values []float64) {
	if n.span == 0 {
		n.since = start
	}
	for i, v := range values {
		n.sums[i] += v * (end - start)
	}
	n.span += end - start
	value, threshold := n.hyp.Judge(n.sums, n.span)
	limit := threshold * (1 + fixedRange)
	if n.guess {
		limit = threshold * (1 - fixedRange)
	}
	if guess := value > limit; guess != n.guess {
		n.guess, n.since = guess, start
	}
}

// refine gives a true node children: at the whole program along all hierarchies at once, elsewhere along one after the other, the one that led there first. The
// next has its turn when all children are false. A child without siblings is tested too, as Paradyn does: the only process of a program.
func (s *fixedSearch) refine(n *fixedNode) {
	for n.state == True && len(n.plan) > 0 {
		open := slices.ContainsFunc(n.kids, func(k *fixedNode) bool { return k.state != False })
		if open && n.focus != grid.Whole() {
			return
		}
		h := n.plan[0]
		n.plan = n.plan[1:]
		for _, f := range s.m.Refinements(n.focus, h) {
			n.kids = append(n.kids, s.add(n.hyp, f, h))
		}
	}
}

func (s *fixedSearch) found(c cause) bool {
	n := s.node(c.hyp, c.at)
	return n != nil && n.state == True
}

func (r *rig) found(c cause) bool { return r.node(c.hyp, c.at).State == True }

// A contender searches in a program.
type contender interface {
	turn()
	found(c cause) bool
}

// The first contender is the one with which the others are compared.
var contenders = []struct {
	name  string
	start func(t *testing.T, p scripted, m *model, more int, rng *rand.Rand) contender
}{
	{"fixed rules", func(_ *testing.T, _ scripted, m *model, _ int, _ *rand.Rand) contender {
		list, _ := shipped()
		return newFixedSearch(m, list)
	}},
	{"culprit", func(t *testing.T, p scripted, m *model, _ int, rng *rand.Rand) contender {
		return p.search(t, m, rng, nil)
	}},
	{"with history", func(t *testing.T, p scripted, m *model, more int, rng *rand.Rand) contender {
		before := p.search(t, p.model(rng.Int63(), more), rng, nil)
		before.run(historyTime)
		return p.search(t, m, rng, priorOf(before.s, true))
	}},
}

const (
	timesSooner = 4.0     // how much sooner a search concludes the causes than fixed rules, at least
	againSooner = 2.0     // how much sooner a search concludes the causes with history, at least
	fewer       = 1.0 / 3 // how many of the probes it needs, at most
)

// historyTime is how long the run lasts that was before, in s.
const historyTime = 10.0

// search begins a search in a program, with what the run before has found; nil if there was none.
func (p scripted) search(t *testing.T, m *model, rng *rand.Rand, before *prior.Prior) *rig {
	r := newRig(t, m)
	list, parents := shipped()
	r.s = newSearch(Config{World: &sampled{r.w, p.seen(rng)}, Prior: before}, list, parents)
	r.s.readFrom(r.g)
	return r
}

// An outcome is how a search went until it had concluded all causes.
type outcome struct {
	seconds float64 // +Inf if it did not
	probes  float64 // pairs enabled until then, without those at the whole program, which the kernel keeps
	cost    float64 // the most that was observed
}

func search(c contender, m *model, causes []cause) outcome {
	missing := func(what cause) bool { return !c.found(what) }
	o := outcome{seconds: math.Inf(1)}
	for m.now() < searchLimit && math.IsInf(o.seconds, 1) {
		m.advance(tickTime.Seconds())
		o.probes = 0
		for _, k := range m.enabled {
			if k.Focus != grid.Whole() {
				o.probes++
			}
		}
		if c.turn(); !slices.ContainsFunc(causes, missing) {
			o.seconds = m.now()
		}
	}
	o.cost = m.maxCost
	return o
}

// medians are those of several searches.
func medians(list []outcome) outcome {
	var seconds, probes, cost []float64
	for _, o := range list {
		seconds, probes, cost = append(seconds, o.seconds), append(probes, o.probes), append(cost, o.cost)
	}
	return outcome{median(seconds), median(probes), median(cost)}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// compare has every contender search in a program, with several noises.
func (p scripted) compare(t *testing.T, more int) (list []outcome) {
	for _, c := range contenders {
		var runs []outcome
		for seed := range int64(noises) {
			m := p.model(seed, more)
			runs = append(runs, search(c.start(t, p, m, more, rand.New(rand.NewSource(100+seed))), m, p.causes))
		}
		list = append(list, medians(runs))
	}
	return list
}

// TestAgainstFixedRules: the search concludes the causes of a program at least four times sooner than fixed rules do, with a third of the probes, whether each
// function calls a few others or five more that take no time. With what an earlier run has found it concludes them at least twice as soon again. What the
// fixed rules never conclude counts as later than anything, with all their probes.
func TestAgainstFixedRules(t *testing.T) {
	for _, more := range []int{0, 5} { // callees of each function, which take no time
		sooner, probes := make([][]float64, len(contenders)), make([][]float64, len(contenders))
		for _, p := range scriptedPrograms {
			line := fmt.Sprintf("%-14s", p.name)
			list := p.compare(t, more)
			for i, o := range list {
				line += fmt.Sprintf("  %s: %5.1f s, %3.0f probes, cost %.1f %%", contenders[i].name, o.seconds, o.probes, 100*o.cost)
				sooner[i], probes[i] = append(sooner[i], list[0].seconds/o.seconds), append(probes[i], o.probes/list[0].probes)
			}
			t.Log(line)
		}
		for i, c := range contenders[1:] {
			s, f := median(sooner[i+1]), median(probes[i+1])
			if i > 0 && s < againSooner*median(sooner[i]) {
				t.Errorf("%s: %.1f times sooner than fixed rules, want %g times as much as %s", c.name, s, againSooner, contenders[i].name)
			}
			t.Logf("%d more callees: %s is %.1f times sooner, with %.3f of the probes", more, c.name, s, f)
			if s < timesSooner || f > fewer {
				t.Errorf("want %g times sooner, with %.3f of the probes", timesSooner, fewer)
			}
		}
	}
}
