package consultant

import (
	"strings"

	"culprit/consultant/decide"
	"culprit/consultant/foci"
	"culprit/consultant/links"
	"culprit/consultant/samples"
	"culprit/grid"
	"culprit/pcl"
)

// topName is the name of the root of the why axis.
const topName = "top"

// A hypothesis is one entry of the why axis with its place in the tree.
type hypothesis struct {
	name, label string
	at, units   string      // "whole" or "object": where it is tested, and told along with what its parent found; "" wherever its parent holds; in which a share is told, too
	parent      *hypothesis // nil: the root
	children    []*hypothesis
	refine      []grid.Hierarchy
	defined     []string // hierarchies that texts define, along which grid.Defined is meant
	base        func(item grid.Focus) grid.Hierarchy
	suppress    []string
	samples     samples.Use // what stack samples say about it
	fraction    bool        // its value is a share of time
	stands      bool        // a wait with this reason is not explained by those who are waited for
	why, where  bool        // which refinements follow when it is true

	*decide.Test
}

// newHypothesis takes over one hypothesis as PCL wrote it.
func newHypothesis(p *pcl.Hypothesis) *hypothesis {
	return (&hypothesis{
		name: p.Name, label: p.Label, at: p.At, stands: p.Stands, units: p.Units, refine: p.Refine, defined: p.Defined, suppress: p.Suppress,
		why: p.Expand != "where", where: p.Expand != "why",
	}).with(newTest(p))
}

func newTest(p *pcl.Hypothesis) *decide.Test {
	t := decide.NewTest(p.Metrics, p.Global, p.Greater, p.Value, p.Threshold).OfShare(p.Share)
	if p.Given != nil {
		t.Given(p.Given.Holds)
	}
	if p.Stake != nil {
		t.Staking(decide.Func(p.Stake))
	}
	if p.Whole != nil {
		t.OfWhole(decide.Func(p.Whole), decide.Func(p.Used))
	}
	return t
}

// with gives the hypothesis its test.
func (h *hypothesis) with(t *decide.Test) *hypothesis {
	h.Test = t
	h.samples = samples.Of(t)
	h.fraction = strings.Contains(h.label, "{percent}")
	return h
}

// sampled tells whether shares of stack samples estimate the value at a part of a focus.
func (h *hypothesis) sampled() bool { return len(h.samples.Kinds) > 0 }

// belongsAt tells whether the hypothesis is tested at a focus where its parent holds.
func (h *hypothesis) belongsAt(f grid.Focus) bool {
	switch h.at {
	case "whole":
		return f.IsWhole()
	case "object":
		return (f.Depth(grid.SyncObject) > 1 || f.Depth(grid.IO) > 1) && foci.Suppressed(f, h.suppress) == ""
	}
	return true
}

// pairs are what the test reads at a focus, in the order of the metrics.
func (h *hypothesis) pairs(f grid.Focus) []grid.PairKey {
	keys := make([]grid.PairKey, len(h.Metrics))
	for i, m := range h.Metrics {
		keys[i] = grid.PairKey{Metric: m, Focus: f}
		if h.Global[i] {
			keys[i].Focus = grid.Whole()
		}
	}
	return keys
}

// unit is what Node.Unit says.
func (h *hypothesis) unit() string {
	if h.fraction {
		return "fraction"
	}
	return ""
}

// newTop makes the root of the why axis. It tests nothing.
func newTop() *hypothesis {
	return &hypothesis{name: topName, Test: decide.NewTest(nil, nil, true, nil, nil)}
}

// whyTree links the hypotheses into a tree and returns its root, "top"; parents names the parent of each.
// It fails for two of one name, an unknown parent, and a circle.
func whyTree(list []*hypothesis, parents []string) (*hypothesis, error) {
	top, names := newTop(), make([]string, len(list))
	for i, h := range list {
		names[i] = h.name
	}
	of, err := links.Parents(names, parents, topName)
	if err != nil {
		return nil, err
	}
	for i, h := range list {
		if h.parent = top; of[i] >= 0 {
			h.parent = list[of[i]]
		}
		h.parent.children = append(h.parent.children, h)
	}
	return top, nil
}
