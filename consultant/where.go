package consultant

import (
	"slices"

	"culprit/consultant/refine"
	"culprit/grid"
)

// The order of refinements: which ways of a true node are walked, and when.

// blockedTime is after what time a candidate that waits for budget or CPU time does not hold up other ways, in s.
const blockedTime = 5.0

// plan decides, when a node is first true, which ways will be walked and in which order: wide for the first node of a
// hypothesis, else first the hierarchy that led there, then the others, then the child hypotheses.
func (s *Search) plan(n *node) {
	hs := n.hyp.Refine
	if !n.hyp.Where {
		hs = nil
	}
	if n.axis != "where" {
		if n.hyp.Why {
			n.ask(step{why: true})
		}
		for _, h := range hs {
			n.ask(step{h: h})
		}
		if slices.Contains(hs, grid.Code) {
			n.plan = []step{{h: grid.Code, through: true}}
		}
		return
	}
	for _, h := range refine.Order(hs, n.via) {
		n.plan = append(n.plan, step{h: h})
		if h == grid.Code {
			n.plan = append(n.plan, step{h: h, through: true})
		}
	}
	beside := func(h *hypothesis) bool { return h.At != "" && h.BelongsAt(n.focus) }
	if slices.ContainsFunc(n.hyp.Children, beside) { // it reads what is measured already
		n.ask(step{why: true})
	} else if n.hyp.Why {
		n.plan = append(n.plan, step{why: true})
	}
}

// advance lets every true node take its next way when the ones before led nowhere. Nodes reached along Code go first, so that a lock or a file is looked for
// below the function that waits before the functions of each lock are. It tells whether there is anything to expand.
func (s *Search) advance(now float64) bool {
	for _, alongCode := range []bool{true, false} {
		for _, n := range s.graph.holding {
			if len(n.plan) > 0 && len(n.asked) == 0 && (n.via == grid.Code) == alongCode {
				s.advanceNode(n, now)
			}
		}
	}
	return slices.ContainsFunc(s.graph.asking, s.canExpand)
}

func (s *Search) advanceNode(n *node, now float64) {
	next := 0
	if n.plan[0].through && len(n.plan) > 1 && slices.ContainsFunc(n.kids[step{h: grid.Code}], (*node).isBehind) {
		next = 1 // what several children call is known when all of them have been tested: that may take a while
	}
	st := n.plan[next]
	for walked, kids := range n.kids {
		if walked.why || (n.axis != "where" && walked.h != st.h) {
			continue
		}
		if slices.ContainsFunc(kids, func(k *node) bool { return k.state == True || k.busy(now) || st.through && k.isBehind() }) {
			return
		}
	}
	if n.axis == "where" && n.via != grid.Code && (st.why || st.h != n.via) {
		if s.codeBusy(n, now) || n.covered(shares{}) != nil {
			return
		}
	}
	n.plan = slices.Delete(n.plan, next, next+1)
	n.ask(st)
}

func (n *node) isBehind() bool { return n.state == Queued && n.wait.Behind }

// busy tells that an answer about the node can be expected soon.
func (n *node) busy(now float64) bool {
	since := n.wait.Since()
	return n.state == Testing || n.state == Queued && !n.isBehind() && (since == 0 || now-since < blockedTime)
}

// codeBusy tells whether the hypothesis is still being followed along Code in the node's phase.
func (s *Search) codeBusy(n *node, now float64) bool {
	return n.group.isBusy(now) || slices.ContainsFunc(s.graph.asking, func(m *node) bool {
		return m != n && m.group == n.group && len(m.asked) > 0 && m.focus.Depth(grid.Code) > 0
	})
}

// covered returns a true node of the same hypothesis and phase that says more than n: its focus is a proper part of n's, and it
// is not one thread's part of what several have. nil if there is none.
func (n *node) covered(known shares) *node {
	for _, m := range n.graph.within[n.nodeKey] {
		if !known.shared(m) {
			return m
		}
	}
	return nil
}
