package consultant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"culprit/consultant/budget"
	"culprit/consultant/explain"
	"culprit/grid"
)

// Defaults of Config.
const (
	defaultBudget     = 0.02
	defaultMinObserve = 500 * time.Millisecond
	tickTime          = 150 * time.Millisecond
	beatTime          = 0.3 // s between two batches of prices and of pairs to be enabled: each stops the target shortly
)

// cells is what the search uses of the grid.
type cells interface {
	Enable(keys ...grid.PairKey) []grid.EnableResult
	Disable(keys ...grid.PairKey)
	Price(keys []grid.PairKey) ([]grid.Price, []error)
	Pair(key grid.PairKey) (grid.Snapshot, bool)
	ObservedCost() float64
	Taken() uint64
}

// A Search is the automatic search. Its methods may be called from any goroutine.
type Search struct {
	cfg   Config
	cells cells
	err   error // what is wrong with the configuration
	ran   atomic.Bool

	mu     sync.Mutex // guards what follows
	top    *hypothesis
	graph  *graph
	phases []*phase
	events []Event

	budget      *budget.Budget
	taken       uint64  // values that were there when nodes were last looked through
	lookedAt    float64 // s; when that was
	tickedAt    float64 // s; when the last tick began
	stirred     bool    // the user has changed something since
	batch       int
	blocked     int
	slow        bool
	beatAt      float64 // only tick uses it
	sampledAt   float64
	suspectedAt float64
	recheck     recheck
}

var _ Runner = (*Search)(nil)

// New prepares a search; nothing is measured until Run. Budget and MinObserve get their defaults if they are not
// positive. What is wrong with the configuration (no grid, no world, hypotheses that form no tree) is the
// error of Run.
func New(cfg Config) *Search {
	var list []*hypothesis
	var parents []string
	for _, h := range cfg.Hypotheses {
		if h != nil {
			list, parents = append(list, newHypothesis(h)), append(parents, h.Parent)
			list[len(list)-1].base = cfg.Base
		}
	}
	s := newSearch(cfg, list, parents)
	if cfg.Grid == nil {
		s.err = errors.New("consultant: Config.Grid is missing")
		return s
	}
	s.cells = cfg.Grid
	return s
}

func newSearch(cfg Config, list []*hypothesis, parents []string) *Search {
	if !(cfg.Budget > 0) {
		cfg.Budget = defaultBudget
	}
	if cfg.MinObserve <= 0 {
		cfg.MinObserve = defaultMinObserve
	}
	s := &Search{
		cfg: cfg, graph: newGraph(), budget: budget.New(cfg.Budget),
		sampledAt: math.Inf(-1), suspectedAt: math.Inf(-1), beatAt: math.Inf(-1), tickedAt: math.Inf(-1), recheck: newRecheck(),
	}
	s.top, s.err = whyTree(list, parents)
	switch {
	case s.err != nil:
		s.top = newTop()
	case len(list) == 0:
		s.err = errors.New("consultant: there are no hypotheses to test; load a PCL file that defines some")
	case cfg.World == nil:
		s.err = errors.New("consultant: Config.World is missing")
	}
	s.addPhase(globalPhase, 0)
	return s
}

// Run searches until ctx ends, and then returns nil; it also returns when nothing is left that could be tested or
// watched. The hypotheses of the first level stay under watch whatever they say, so that a bottleneck that begins later
// is found. When it returns it has disabled all pairs it had enabled; what it found stays readable. Only one Run at a
// time is allowed; it may be called again after it has returned.
func (s *Search) Run(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	if !s.ran.CompareAndSwap(false, true) {
		return errors.New("consultant: the search runs already")
	}
	defer s.ran.Store(false)
	defer s.leave()
	for ctx.Err() == nil {
		if s.isDue() {
			s.tick()
		}
		if s.idle() {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.pause()):
		}
	}
	return nil
}

// tick does everything that is due.
func (s *Search) tick() {
	now := s.cfg.now()
	observed, stood := s.cells.ObservedCost(), s.cfg.World.Stood()
	s.mu.Lock()
	s.tickedAt, s.stirred = now, false
	s.budget.Observe(observed, stood)
	s.shed(now)
	s.observe(now)
	asked := s.advance(now)
	s.mu.Unlock()
	s.judgeSamples(now)
	s.suspect(now)
	for asked {
		s.expand()
		s.mu.Lock()
		asked = s.advance(now) // a way that led to nothing makes room for the next at once
		s.mu.Unlock()
	}
	if now-s.beatAt >= beatTime-1e-9 {
		s.beatAt = now
		s.askForTime()
		s.priceQueue(now)
		s.mu.Lock()
		now = s.cfg.now()
		s.suspend(now)
		s.pick(now)
		s.mu.Unlock()
	}
	s.updatePairs()
	s.flush()
}

// updatePairs enables and disables what changed, one batch each. What is not needed any longer may stay for a moment, so that
// the target is stopped less often.
func (s *Search) updatePairs() {
	s.mu.Lock()
	add, drop := s.changes()
	now := s.cfg.now()
	if len(add) == 0 && !s.budget.MustDrop(now) {
		drop = nil
	}
	if len(add)+len(drop) > 0 {
		s.budget.Changed(now)
	}
	s.mu.Unlock()
	if len(drop) > 0 {
		s.cells.Disable(drop...)
	}
	var results []grid.EnableResult
	if len(add) > 0 {
		results = s.cells.Enable(add...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.cfg.now()
	s.budget.Disable(drop...)
	s.enabled(add, results, now)
}

// changes compares the pairs that the watched nodes need with those that are enabled.
func (s *Search) changes() (add, drop []grid.PairKey) {
	asked := map[grid.PairKey]bool{}
	for _, n := range s.graph.watching {
		for _, k := range n.pairs {
			if _, on := s.budget.Active(k); !on && !asked[k] {
				asked[k] = true
				add = append(add, k)
			}
		}
	}
	for _, k := range s.budget.ActiveKeys() {
		if s.graph.users[k] == 0 {
			drop = append(drop, k)
		}
	}
	slices.SortFunc(drop, func(a, b grid.PairKey) int {
		if c := a.Focus.Compare(b.Focus); c != 0 {
			return c
		}
		return strings.Compare(a.Metric, b.Metric)
	})
	return add, drop
}

// enabled takes the answer to a batch: which pairs are measured from when on, and which nodes cannot be.
func (s *Search) enabled(add []grid.PairKey, results []grid.EnableResult, now float64) {
	failed := map[grid.PairKey]error{}
	for _, k := range add {
		failed[k] = errors.New("the grid gave no answer")
	}
	for _, r := range results {
		if _, asked := failed[r.Key]; !asked {
			continue
		}
		if failed[r.Key] = r.Err; r.Err == nil {
			s.budget.Enable(r.Key, r.Since, r.Tier, now)
		}
	}
	for _, n := range slices.Clone(s.graph.watching) {
		if !math.IsInf(n.next, 1) {
			continue
		}
		if err := firstError(n, failed); err != nil {
			s.fail(n, err, now)
			continue
		}
		s.ready(n)
	}
}

func firstError(n *node, failed map[grid.PairKey]error) error {
	for _, k := range n.pairs {
		if err := failed[k]; err != nil {
			return err
		}
	}
	return nil
}

// ready sets from when on the values of a node count: all its pairs are complete. What pairs enabled before recorded in
// the last MinObserve counts too.
func (s *Search) ready(n *node) {
	from := max(n.phase.Start, n.started-s.cfg.MinObserve.Seconds())
	n.tier = ""
	for i, k := range n.pairs {
		c, on := s.budget.Active(k)
		if !on {
			return
		}
		from = max(from, c.Since)
		if n.tier == "" || !n.hyp.Global[i] || n.hyp.Locals() == 0 {
			n.tier = weaker(n.tier, c.Tier)
		}
	}
	n.next = from
}

// weaker is the tier that limits what can be said: an estimate before a count, a count before what the kernel keeps.
func weaker(a, b grid.Tier) grid.Tier {
	for _, t := range []grid.Tier{grid.TierSample, grid.TierProbe, grid.TierKernel} {
		if a == t || b == t {
			return t
		}
	}
	return b
}

// leave disables everything at the end of Run. Nodes under watch are measured again if Run is called again.
func (s *Search) leave() {
	s.mu.Lock()
	drop := s.budget.ActiveKeys()
	s.budget.Disable(drop...)
	for _, n := range s.graph.nodes {
		n.next = math.Inf(1)
		switch {
		case n.state == Testing:
			n.reason = "the search ended before enough was seen"
		case n.state == Queued && n.reason == "":
			n.reason = "not tested: the search ended before"
		}
	}
	s.mu.Unlock()
	if len(drop) > 0 {
		s.cells.Disable(drop...)
	}
	s.flush()
}

// idle tells that nothing is left that could be tested or watched.
func (s *Search) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.graph.nodes {
		if n.watched || n.suspended || n.open() || len(n.asked) > 0 || n.state == OverBudget && n.hyp.sampled() {
			return false
		}
	}
	return true
}

// say records an event for OnEvent; n may be nil. The lock is held.
func (s *Search) say(n *node, format string, args ...any) {
	e := Event{At: s.cfg.now(), Text: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Node = n.id
		if !n.isRoot() {
			e.Text = n.hyp.name + " at " + explain.Focus(n.focus) + " " + e.Text
		}
	}
	const enough = 10000 // nobody runs the search, or nobody listens
	if len(s.events) < enough {
		s.events = append(s.events, e)
	}
}

func (c Config) now() float64 {
	if c.World == nil {
		return 0
	}
	return c.World.Now()
}

// flush hands the events over without the lock.
func (s *Search) flush() {
	s.mu.Lock()
	list := s.events
	s.events = nil
	s.mu.Unlock()
	if s.cfg.OnEvent == nil {
		return
	}
	for _, e := range list {
		s.cfg.OnEvent(e)
	}
}
