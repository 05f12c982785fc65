package consultant

import (
	"slices"

	"culprit/consultant/refine"
	"culprit/grid"
)

// Expansions: what is found when a node is refined along one way. The daemon is asked without the lock.

// An expansion is one step of one node, with what is needed while the lock is not held.
type expansion struct {
	n                *node
	st               step
	value, threshold float64
	looked, last     float64                       // s; when the way was looked at again, and before that; 0 if it was not
	callers          []*refine.Found               // of a step through: the false children
	functions        map[*node]map[grid.Focus]bool // of within, as far as they were asked for
	sampled          bool                          // stack samples tell of what was found
}

// expand walks the ways that nodes ask for. The axis is asked without the lock.
func (s *Search) expand() {
	for {
		e, ok := s.nextExpansion()
		if !ok {
			return
		}
		var list []*refine.Found
		switch {
		case e.st.why:
		case e.st.through:
			list = s.question(e).Through(e.callers)
		default:
			list = s.refine(e)
		}
		s.mu.Lock()
		if e.st.why {
			s.growWhy(e.n)
		} else {
			s.grow(&e, list)
		}
		s.mu.Unlock()
	}
}

func (s *Search) nextExpansion() (expansion, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graph.asking = slices.DeleteFunc(s.graph.asking, func(n *node) bool { return len(n.asked) == 0 })
	for _, n := range s.graph.asking {
		if !s.canExpand(n) {
			continue
		}
		e := expansion{n: n, st: n.asked[0], value: n.est.Value, threshold: n.est.Threshold}
		n.asked = n.asked[1:]
		if e.st.through {
			for _, k := range n.kids[step{h: grid.Code}] {
				if k.state == False && k.decidedAt > 0 {
					e.callers = append(e.callers, &refine.Found{Focus: k.focus, Bound: k.est.Value})
				}
			}
		}
		return e, true
	}
	return expansion{}, false
}

// question is what is asked of the axis about the node of an expansion.
func (s *Search) question(e expansion) *refine.Question {
	h := e.n.hyp
	return &refine.Question{Axis: s.cfg.World, Focus: e.n.focus, Kind: h.Samples.Kind, Value: e.value, Threshold: e.threshold,
		Additive: h.Additive(), Sampled: h.Sampled(), Suppress: h.Suppress, Defined: h.Defined}
}

// refine finds the children of a node along one hierarchy, heaviest first, and along Code what Deep Start finds below.
func (s *Search) refine(e expansion) []*refine.Found {
	q := s.question(e)
	list := q.Children(e.st.h)
	if e.st.h == grid.Code {
		return q.Below(list)
	}
	for _, c := range list {
		c.Hot = c.Hot && e.st.h != grid.Process && e.st.h != grid.Machine // threads are many, and nothing is tested ahead below them
	}
	return list
}
