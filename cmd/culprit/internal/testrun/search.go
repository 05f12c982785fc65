package testrun

import (
	"context"
	"fmt"
	"time"

	"culprit/consultant"
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/pcltest"
	"culprit/pcl/syntax"
)

// An expectedNode is a node of the search history graph that a test has expectations of.
type expectedNode struct {
	hypothesis string
	focus      grid.Focus
	state      pcltest.State
}

// A search ends when it has had nothing to test for settledTime: values change, and what they change for is tested again. It is
// looked at each searchEvery.
const (
	settledTime = 2 * time.Second
	searchEvery = 100 * time.Millisecond
)

// search runs the search on what is measured. What it found stays readable; a second one in the same span goes on from there.
func (m *measured) search(s pcltest.Search, rest []pcltest.Step) error {
	if m.over {
		return errOver
	}
	nodes, err := m.r.expectedNodes(rest)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(m.r.ctx, s.For)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- m.s.Search(ctx) }()
	m.awaitNodes(ctx, nodes)
	cancel()
	return <-ran
}

// searched prints what the search does.
func (r *run) searched(e consultant.Event) { r.printf("      | search: %6.2f s: %s", e.At, e.Text) }

// awaitNodes waits until all that is expected holds, or the search is over.
func (m *measured) awaitNodes(ctx context.Context, nodes []expectedNode) {
	busy := time.Now()
	for ctx.Err() == nil {
		m.r.pause(searchEvery)
		if !m.s.Settled() {
			busy = time.Now()
		}
		if time.Since(busy) >= settledTime || m.found(nodes) {
			return
		}
		select {
		case <-m.s.Ended():
			return
		default:
		}
	}
}

// found reports whether all that is expected holds, and will: what must stay untested is known when the search is over.
func (m *measured) found(nodes []expectedNode) bool {
	for _, n := range nodes {
		if n.state == pcltest.StateUntested || !m.holds(n) {
			return false
		}
	}
	return len(nodes) > 0
}

// holds reports whether a node is in the state that is expected.
func (m *measured) holds(e expectedNode) bool {
	n, there := m.node(e)
	tested := there && (n.State == consultant.True || n.State == consultant.False)
	switch e.state {
	case pcltest.StateTested:
		return tested
	case pcltest.StateUntested:
		return !tested
	}
	return there && string(n.State) == string(e.state)
}

// node finds the node of a hypothesis at a focus, for the session as a whole.
func (m *measured) node(e expectedNode) (consultant.Node, bool) {
	for _, n := range m.s.Nodes() {
		if n.Hypothesis == e.hypothesis && n.Focus == e.focus {
			return n, true
		}
	}
	return consultant.Node{}, false
}

// expectedNodes lists what is expected of the search up to the next measure.
func (r *run) expectedNodes(rest []pcltest.Step) (nodes []expectedNode, err error) {
	for _, s := range span(rest) {
		h, ok := s.(pcltest.Hypothesis)
		if !ok {
			continue
		}
		n, err := r.expectedNode(h)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (r *run) expectedNode(s pcltest.Hypothesis) (expectedNode, error) {
	f, err := r.focus(s.Focus)
	return expectedNode{s.Name, f, s.State}, err
}

// hypothesis ends measuring and looks at what the search has concluded.
func (r *run) hypothesis(s pcltest.Hypothesis) error {
	if err := r.measured.stop(); err != nil {
		return err
	}
	want, err := r.expectedNode(s)
	if err != nil {
		return err
	}
	m := r.measured
	what := fmt.Sprintf("%s: hypothesis %s", s.Pos, title(grid.PairKey{Metric: s.Name, Focus: want.focus}, pcltest.Default))
	n, there := m.node(want)
	got := "untested: the search has not come to " + want.focus.String()
	switch {
	case there && (n.State == consultant.True || n.State == consultant.False):
		got = fmt.Sprintf("%s (value %s, threshold %s)", n.State, pcltest.Number(n.Value), pcltest.Number(n.Threshold))
	case there:
		got = fmt.Sprintf("%s: %s", n.State, n.Reason)
	}
	if m.holds(want) {
		r.pass("%s: %s, expected %s", what, got, want.state)
	} else {
		r.fail("%s: %s, expected %s", what, got, want.state)
	}
	return nil
}

// checkSearch reports hypotheses that a test names and that are not there.
func checkSearch(lib *pcl.Library, t *pcltest.Test) (problems []*syntax.Error) {
	var names []string
	known := map[string]bool{}
	for _, h := range lib.Hypotheses() {
		names = append(names, h.Name)
		known[h.Name] = true
	}
	for _, s := range t.Steps {
		if h, ok := s.(pcltest.Hypothesis); ok && !known[h.Name] {
			problems = append(problems, &syntax.Error{Pos: h.Pos, Msg: fmt.Sprintf("there is no hypothesis %q%s", h.Name, syntax.DidYouMean(h.Name, names))})
		}
	}
	return problems
}
