package consultant

import (
	"culprit/consultant/foci"
	"culprit/consultant/prior"
)

// What an earlier run has found. A place that held then is tested as soon as stack samples see it, and not only when all that is above it holds. One that
// was ruled out is left to the stack samples where the program is the same.

// recall adds the places that held in an earlier run: all where the program is the same, else those that stack samples see. It takes the lock itself; the
// axis is asked without it.
func (s *Search) recall(now float64) {
	s.recalled.Each(now, func(p prior.Place, from []*node) *node {
		h := s.top.Find(p.Hypothesis)
		if h == nil {
			return nil
		}
		seen := h.Sampled() && s.cfg.World.Weight(p.Focus, h.Samples.Kind) > 0
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.remember(nodeKey{hyp: h, focus: p.Focus, phase: s.phases[0]}, from, seen)
	})
}

// remember adds a place of an earlier run to the graph, below nodes. It returns nil if it is not there, or if there is nothing above it.
func (s *Search) remember(key nodeKey, from []*node, seen bool) *node {
	k := s.graph.index[key]
	for _, n := range from {
		if n.state == False || n.phase.over() {
			continue
		}
		switch {
		case n.hyp == key.hyp && (seen || s.cfg.Prior.IsSame()):
			k = s.graph.add(key, n, "where")
		case n.focus == key.focus && n.hyp == key.hyp.Parent && key.hyp.BelongsAt(n.focus) && foci.Suppressed(n.focus, key.hyp.Suppress) == "":
			k = s.graph.add(key, n, "why")
		}
	}
	if k == nil {
		return nil
	}
	if k.Held, k.Hot, k.Cool = true, true, false; seen {
		s.revive(k)
	}
	if k.state == Never {
		return nil // it is not there yet
	}
	return k
}

// before is what an earlier run said of the place of a node.
func (s *Search) before(k *node) prior.Answer {
	if k.phase.index > 0 {
		return prior.Unsure
	}
	return s.cfg.Prior.Of(k.hyp.Name, k.focus)
}

// isLeft tells that a place is left to the stack samples, since an earlier run has ruled it out and the program is the same.
func (s *Search) isLeft(k *node) bool {
	return !k.Hot && k.hyp.Sampled() && k.hyp.Additive() && s.cfg.Prior.IsSame() && s.before(k) == prior.RuledOut
}
