package grid

import (
	"fmt"
	"math"
	"sync"
)

// Bounds of phases.
const (
	// MaxPhases is how many phases a session can have, the global one included.
	MaxPhases = 1000
	// keptPhases is for how many ended phases a pair keeps its histograms.
	keptPhases = 4
)

// A Phase is an interval of the session with histograms of its own. Phase 0 is the global one, from the start to the
// end of the session. It is comparable.
type Phase struct {
	ID    int
	Name  string
	Start float64 // s since session start
	End   float64 // s since session start; 0 while it goes on
}

// A phaseState is a phase with what its histograms share.
type phaseState struct {
	Phase
	group *FoldGroup
}

// A PhaseHistogram is the histogram of one pair for one phase.
type PhaseHistogram struct {
	Phase     Phase
	Histogram *Histogram
}

// Phases lists the phases in order of start; the first is the global one. At most one other, the last, has no end.
func (g *Grid) Phases() []Phase {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return append([]Phase(nil), g.phases...)
}

// CurrentPhase is the phase that was started last, and false if none was or it has been ended.
func (g *Grid) CurrentPhase() (Phase, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.current == nil {
		return Phase{}, false
	}
	return g.current.Phase, true
}

// StartPhase starts a current phase now and ends the one before. Its histograms start at the finest width. Without a
// name it is called "phase N".
func (g *Grid) StartPhase(name string) (Phase, error) { return g.StartPhaseAt(name, g.now()) }

// StartPhaseAt starts a current phase at a time that may have passed (s since session start), as when it was found in
// the data: it takes what the phase before, or the global one, holds of the time since, and the smallest width that
// covers that time. It is an error if the time is in the future or not after the start of the current phase, or if there
// are too many phases.
func (g *Grid) StartPhaseAt(name string, at float64) (Phase, error) {
	now := g.now()
	g.mu.Lock()
	if err := g.checkPhase(at, now); err != nil {
		g.mu.Unlock()
		return Phase{}, err
	}
	var changes []Change
	var ended Phase
	if g.current != nil {
		ended = g.closePhase(at)
		changes = append(changes, Change{Kind: PhaseEnded, Phase: ended, Start: ended.Start, End: at})
	}
	phase := Phase{ID: len(g.phases), Name: name, Start: at}
	if name == "" {
		phase.Name = fmt.Sprintf("phase %d", phase.ID)
	}
	g.phases = append(g.phases, phase)
	g.current = g.newPhaseState(phase)
	for _, p := range g.pairs {
		p.turn(g.current.group, ended, now)
	}
	g.mu.Unlock()
	g.notify(append(changes, Change{Kind: PhaseStarted, Phase: phase, Start: at})...)
	return phase, nil
}

// EndPhase ends the current phase now; until the next one is started only the global phase goes on. It returns false
// if there is none.
func (g *Grid) EndPhase() (Phase, bool) {
	now := g.now()
	g.mu.Lock()
	if g.current == nil {
		g.mu.Unlock()
		return Phase{}, false
	}
	ended := g.closePhase(max(now, g.current.Start+1e-9)) // an end of 0 would mean that it goes on
	for _, p := range g.pairs {
		p.leave(ended)
	}
	g.mu.Unlock()
	g.notify(Change{Kind: PhaseEnded, Phase: ended, Start: ended.Start, End: ended.End})
	return ended, true
}

func (g *Grid) checkPhase(at, now float64) error {
	switch {
	case len(g.phases) >= MaxPhases:
		return fmt.Errorf("phase: there are %d phases already; at most %d", len(g.phases), MaxPhases)
	case !(at >= 0 && at <= now):
		return fmt.Errorf("phase: cannot start at %g s; expected a time from 0 to now (%g s)", at, now)
	case g.current != nil && at <= g.current.Start:
		return fmt.Errorf("phase: cannot start at %g s; phase %s began at %g s, the next must be later", at, quote(g.current.Name), g.current.Start)
	case g.current == nil && at < g.phases[len(g.phases)-1].End:
		return fmt.Errorf("phase: cannot start at %g s; the phase before ended at %g s", at, g.phases[len(g.phases)-1].End)
	}
	return nil
}

func (g *Grid) newPhaseState(phase Phase) *phaseState {
	return &phaseState{phase, NewFoldGroup(phase.Start, func(width float64) {
		g.notify(Change{Kind: Folded, Phase: phase, Width: width})
	})}
}

// closePhase notes the end of the current phase. The mutex is held.
func (g *Grid) closePhase(at float64) Phase {
	p := &g.phases[g.current.ID]
	p.End = at
	g.current = nil
	return *p
}

// turn gives the pair a histogram for the phase of the group, with what is known of it already, and ends that of the
// phase before, if it has one.
func (p *pair) turn(next *FoldGroup, ended Phase, now float64) {
	source := p.global
	if p.current != nil {
		source = p.current // it has the finer bins
	}
	h := next.New(p.metric.Style, now)
	source.copyInto(h, next.start)
	p.leave(ended)
	p.current = h
}

// leave puts the current histogram to the past ones.
func (p *pair) leave(ended Phase) {
	for _, past := range p.past {
		past.Histogram.compact()
	}
	if p.current == nil {
		return
	}
	p.past = append(p.past, PhaseHistogram{ended, p.current.endAt(ended.End)})
	if n := len(p.past); n > keptPhases {
		p.past = append([]PhaseHistogram(nil), p.past[n-keptPhases:]...)
	}
	p.current = nil
}

// copyInto adds to dst what h holds after from. It locks h, then dst, which is in no group yet seen by others.
func (h *Histogram) copyInto(dst *Histogram, from float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dst.mu.Lock()
	defer dst.mu.Unlock()
	h.copyRange(dst, from, math.Inf(1))
}

// endAt returns the histogram of the phase that ends: h itself, which takes nothing later from now on, or if the end has
// passed a new one without what came later.
func (h *Histogram) endAt(end float64) *Histogram {
	if h.group != nil {
		h.group.Remove(h)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until > end {
		c := newHistogram(h.start, h.style, h.width, new(sync.Mutex))
		h.copyRange(c, math.Inf(-1), end)
		h = c
	}
	h.limit = end
	return h
}

// compact gives up the room for bins that will not be filled any more, once there are values up to the end of the phase.
func (h *Histogram) compact() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until < h.limit || len(h.bins) == h.filled {
		return
	}
	h.closed = true
	h.bins = append([]float64(nil), h.bins[:h.filled]...)
	h.covered = append([]float64(nil), h.covered[:h.filled]...)
	if h.style == SampledFunction {
		h.extremes = h.extremes.cut(h.filled)
	}
}
