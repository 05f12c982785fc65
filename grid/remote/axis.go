package remote

import (
	"slices"
	"sync"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

const (
	// freshFor is how long steps and weights are believed: the daemon itself knows of new samples every 0.2 s at most.
	freshFor = 500 * time.Millisecond
	// wantedFor is how long weights that somebody has asked for are asked for again.
	wantedFor = 3 * time.Second
	// besides is how many foci are asked about at once.
	besides = 256
	// maxKnown bounds what is kept; all of it is forgotten when there is more.
	maxKnown = 1 << 16
)

// An axis is what is known of steps and weights.
type axis struct {
	mu      sync.Mutex
	steps   map[stepKey]*step
	from    map[grid.Focus]*step // a step that led there
	weights map[grid.Focus]weight
	wanted  map[grid.Focus]time.Time // when its weight was last asked for
}

type stepKey struct {
	f grid.Focus
	h grid.Hierarchy
}

type step struct {
	to []grid.Focus
	at time.Time
}

type weight struct {
	by wire.Weights
	at time.Time
}

func (x *axis) init() {
	x.steps, x.from, x.weights = map[stepKey]*step{}, map[grid.Focus]*step{}, map[grid.Focus]weight{}
	x.wanted = map[grid.Focus]time.Time{}
}

// Refinements implements grid.Axis.
func (d *Daemon) Refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	if to, ok := d.axis.step(f, h); ok {
		return to
	}
	a, err := d.ask(wire.Command{Refine: &wire.Refine{Questions: d.axis.questions(f, h)}})
	if err != nil {
		return nil
	}
	d.axis.learn(a.Steps, time.Now())
	to, _ := d.axis.step(f, h)
	return to
}

// step is what is known of one.
func (x *axis) step(f grid.Focus, h grid.Hierarchy) ([]grid.Focus, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.steps[stepKey{f, h}]
	if s == nil || time.Since(s.at) > freshFor {
		return nil, false
	}
	return slices.Clone(s.to), true
}

// questions are what is asked about a focus, and about those beside it, which will be asked about next.
func (x *axis) questions(f grid.Focus, h grid.Hierarchy) []wire.Question {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := []wire.Question{{Focus: wire.FocusOf(f), Hierarchy: uint8(h)}}
	if s := x.from[f]; s != nil && h == grid.Code {
		for _, g := range s.to {
			if k := x.steps[stepKey{g, h}]; g != f && len(list) < besides && (k == nil || time.Since(k.at) > freshFor) {
				list = append(list, wire.Question{Focus: wire.FocusOf(g), Hierarchy: uint8(h)})
			}
		}
	}
	return list
}

// learn keeps the steps of an answer.
func (x *axis) learn(steps []wire.Step, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.steps)+len(x.weights) > maxKnown {
		clear(x.steps)
		clear(x.from)
		clear(x.weights)
	}
	for _, w := range steps {
		f, err := w.Question.Focus.Focus()
		if err != nil {
			continue
		}
		s := &step{at: now}
		x.weights[f] = weight{w.Weights, now}
		for _, to := range w.To {
			g, err := to.Focus.Focus()
			if err != nil {
				continue
			}
			s.to = append(s.to, g)
			x.from[g] = s
			x.weights[g] = weight{to.Weights, now}
		}
		x.steps[stepKey{f, grid.Hierarchy(w.Question.Hierarchy)}] = s
	}
}

// Weight implements grid.Axis.
func (d *Daemon) Weight(f grid.Focus, kind string) float64 {
	i := slices.Index(wire.WeightKinds[:], kind)
	if i < 0 {
		return 0
	}
	w, foci, ok := d.axis.weight(f)
	if !ok {
		a, err := d.ask(wire.Command{Weigh: &wire.Weigh{Foci: foci}})
		if err != nil {
			return 0
		}
		d.axis.weighed(a.Weighed, time.Now())
		w, _, _ = d.axis.weight(f)
	}
	return w[i]
}

// weight is what is known of one focus; else which foci are to be asked about: all that somebody has asked for lately.
func (x *axis) weight(f grid.Focus) (w wire.Weights, ask []wire.Focus, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	x.wanted[f] = now
	if known, has := x.weights[f]; has && now.Sub(known.at) <= freshFor {
		return known.by, nil, true
	}
	ask = []wire.Focus{wire.FocusOf(f)}
	for g, at := range x.wanted {
		switch {
		case now.Sub(at) > wantedFor:
			delete(x.wanted, g)
		case g != f && len(ask) < besides:
			ask = append(ask, wire.FocusOf(g))
		}
	}
	return w, ask, false
}

// weighed keeps weights that came.
func (x *axis) weighed(list []wire.Weighed, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range list {
		if f, err := w.Focus.Focus(); err == nil {
			x.weights[f] = weight{w.Weights, now}
		}
	}
}
