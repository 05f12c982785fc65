package consultant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"culprit/consultant/answers"
	"culprit/consultant/beat"
	"culprit/consultant/bins"
	"culprit/consultant/budget"
	"culprit/consultant/earlier"
	"culprit/consultant/explain"
	"culprit/consultant/hypotheses"
	"culprit/consultant/prior"
	"culprit/grid"
)

// Defaults of Config.
const (
	defaultBudget     = 0.02
	defaultMinObserve = 500 * time.Millisecond
	tickTime          = 150 * time.Millisecond
)

// cells is what the search uses of the grid.
type cells interface {
	Enable(keys ...grid.PairKey) []grid.EnableResult
	Disable(keys ...grid.PairKey)
	Price(keys []grid.PairKey) ([]grid.Price, []error)
	Pair(key grid.PairKey) (grid.Snapshot, bool)
	Intervals(key grid.PairKey, after float64) []grid.Interval
	ObservedCost() float64
	Costs() map[grid.PairKey]float64
	News() <-chan struct{}
}

// A Search is the automatic search: see New and Run here, Nodes, Phases, Status and Settled in report.go, Answer in verdict.go,
// Expand, Prune, Retest and Pin in manual.go, StartPhase in when.go. Its methods may be called from any goroutine.
type Search struct {
	cfg   Config
	cells cells
	err   error // what is wrong with the configuration
	ran   atomic.Bool

	mu      sync.Mutex // guards what follows
	top     *hypothesis
	graph   *graph
	earlier earlier.List
	phases  []*phase
	cycle   Cycle
	events  []Event

	budget  *budget.Budget
	recheck beat.Recheck
	alarm   *beat.Alarm
	halt    bins.Halt
	turn
	batch   int  // number of the last batch of experiments
	blocked int  // candidates that wait for budget
	slow    bool // the search has said that it waits for budget

	recalled prior.Found[*node] // of Run
}

// New prepares a search; nothing is measured until Run. Budget and MinObserve get their defaults if they are not positive. What is wrong with the configuration
// (no grid, no world, hypotheses that form no tree) is the error of Run.
func New(cfg Config) *Search {
	var list []*hypothesis
	var parents []string
	for _, h := range cfg.Hypotheses {
		if h != nil {
			list, parents = append(list, hypotheses.New(h)), append(parents, h.Parent)
			list[len(list)-1].Base = cfg.Base
		}
	}
	s := newSearch(cfg, list, parents)
	if cfg.Grid == nil {
		s.err = errors.New("consultant: Config.Grid is missing")
		return s
	}
	s.readFrom(cfg.Grid)
	return s
}

// readFrom has the search use cells.
func (s *Search) readFrom(c cells) { s.cells, s.alarm = c, beat.NewAlarm(c.News()) }

func newSearch(cfg Config, list []*hypothesis, parents []string) *Search {
	if !(cfg.Budget > 0) {
		cfg.Budget = defaultBudget
	}
	if cfg.MinObserve <= 0 {
		cfg.MinObserve = defaultMinObserve
	}
	if cfg.LeastStake == nil {
		cfg.LeastStake = func() float64 { return 0 }
	}
	s := &Search{
		cfg: cfg, graph: newGraph(), recalled: prior.Seek[*node](cfg.Prior), budget: budget.New(cfg.Budget), turn: newTurn(), recheck: beat.NewRecheck(),
	}
	s.top, s.err = hypotheses.Tree(list, parents)
	switch {
	case s.err != nil:
		s.top = hypotheses.Top()
	case len(list) == 0:
		s.err = errors.New("consultant: there are no hypotheses to test; load a PCL file that defines some")
	case cfg.World == nil:
		s.err = errors.New("consultant: Config.World is missing")
	}
	s.addPhase(answers.Global, 0)
	return s
}

// Run searches until ctx ends, and then returns nil; it also returns when nothing is left that could be tested or watched. The hypotheses of the first level
// stay under watch whatever they say, so that a bottleneck that begins later is found. When it returns it has disabled all pairs it had enabled; what it found
// stays readable. Only one Run at a time is allowed; it may be called again after it has returned.
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
		s.rest(ctx)
	}
	return nil
}

// tick does everything that is due.
func (s *Search) tick() {
	now := s.cfg.now()
	observed, costs, stood, spare, halted := s.cells.ObservedCost(), s.cells.Costs(), s.cfg.World.Stood(), s.cfg.World.Spare(), s.cfg.World.Halted()
	s.mu.Lock()
	s.tickedAt = now
	s.noteHalt(halted, now)
	s.alarm.Granted()
	s.budget.Observe(observed, stood)
	s.budget.ObserveCosts(costs)
	s.shed(now)
	s.observe(now)
	s.noteTold(now)
	asked := s.advance(now)
	s.mu.Unlock()
	s.judgeSamples(now)
	s.suspect(now)
	s.lookAgain(now)
	grew := asked
	for asked {
		s.expand()
		s.mu.Lock()
		asked = s.advance(now) // a way that led to nothing makes room for the next at once
		s.mu.Unlock()
	}
	s.recall(now)
	if s.beat.Begin(now, stood, grew) {
		s.mu.Lock()
		s.budget.SetAllowance(spare)
		s.mu.Unlock()
		if s.priceQueue(now, (*node).isKept) { // those need not wait for what the others take: calls are counted, code is patched
			s.startTests()
		}
		s.priceQueue(now, nil)
		s.startTests()
	} else {
		s.updatePairs(s.beat.IsEarly(now))
	}
	s.flush()
}

// startTests starts the tests that there is room for.
func (s *Search) startTests() {
	s.mu.Lock()
	now := s.cfg.now()
	s.suspend(now)
	s.pick(now)
	s.mu.Unlock()
	s.updatePairs(true)
}

// leave disables everything at the end of Run. Nodes under watch are measured again if Run is called again.
func (s *Search) leave() {
	s.mu.Lock()
	drop := s.budget.ActiveKeys()
	s.budget.Disable(drop...)
	for _, n := range s.graph.nodes {
		n.next = math.Inf(1)
		if n.state == Testing || n.state == Queued && n.reason == "" {
			n.reason = explain.Unfinished(n.state == Testing, n.falseAt)
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
		if n.watched || n.suspended || n.open() || len(n.asked) > 0 || n.state == OverBudget && n.hyp.Sampled() {
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
			e.Text = n.hyp.Name + " at " + explain.Focus(n.focus) + n.phase.words() + " " + e.Text
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
