// Package hypotheses is the why axis of the search: what may be slow, how a test of it is judged, and where it is refined to.
//
// It is pure: it takes hypotheses as PCL wrote them, and imports grid and parts of the search that know no nodes. Nothing of it changes once a
// search has begun, so that all of it may be read from any goroutine.
package hypotheses

import (
	"strings"

	"culprit/consultant/decide"
	"culprit/consultant/foci"
	"culprit/consultant/links"
	"culprit/consultant/samples"
	"culprit/grid"
	"culprit/pcl"
)

// TopName is the name of the root of the why axis.
const TopName = "top"

// A Hypothesis is one entry of the why axis with its place in the tree.
type Hypothesis struct {
	Name, Label string
	At          string      // "whole" or "object": where it is tested, and told along with what its parent found; "" wherever its parent holds
	Units       string      // in which a share is told, too; else the unit of the value
	Parent      *Hypothesis // nil: the root
	Children    []*Hypothesis
	Refine      []grid.Hierarchy
	Defined     []string // hierarchies that texts define, along which grid.Defined is meant
	Base        func(item grid.Focus) grid.Hierarchy
	Suppress    []string
	Samples     samples.Use // what stack samples say about it
	Fraction    bool        // its value is a share of time
	Stands      bool        // a wait with this reason is not explained by those who are waited for
	Why, Where  bool        // which refinements follow when it is true
	Kept        bool        // a test of it at the whole program puts no probe into it

	*decide.Test
}

// New takes over one hypothesis as PCL wrote it.
func New(p *pcl.Hypothesis) *Hypothesis {
	return (&Hypothesis{
		Name: p.Name, Label: p.Label, At: p.At, Stands: p.Stands, Units: p.Units, Refine: p.Refine, Defined: p.Defined, Suppress: p.Suppress,
		Why: p.Expand != "where", Where: p.Expand != "why", Kept: p.Kept,
	}).With(newTest(p))
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

// With gives the hypothesis its test, and returns it.
func (h *Hypothesis) With(t *decide.Test) *Hypothesis {
	h.Test = t
	h.Samples = samples.Of(t)
	h.Fraction = strings.Contains(h.Label, "{percent}")
	return h
}

// Sampled tells whether shares of stack samples estimate the value at a part of a focus.
func (h *Hypothesis) Sampled() bool { return len(h.Samples.Kinds) > 0 }

// IsRoot tells that this is the root of the why axis. It tests nothing.
func (h *Hypothesis) IsRoot() bool { return h.Parent == nil && h.Name == TopName }

// IsFirst tells that the hypothesis is of the first level.
func (h *Hypothesis) IsFirst() bool { return h.Parent != nil && h.Parent.IsRoot() }

// IsBelow tells whether a hypothesis is one of those that say why another one holds.
func (h *Hypothesis) IsBelow(other *Hypothesis) bool {
	for p := h.Parent; p != nil; p = p.Parent {
		if p == other {
			return true
		}
	}
	return false
}

// First is the hypothesis of the first level that it is, or is below of; nil for the root.
func (h *Hypothesis) First() *Hypothesis {
	for p := h; p.Parent != nil; p = p.Parent {
		if p.IsFirst() {
			return p
		}
	}
	return nil
}

// Find is the hypothesis of a name, of itself and all below it; nil if there is none.
func (h *Hypothesis) Find(name string) *Hypothesis {
	if h.Name == name {
		return h
	}
	for _, c := range h.Children {
		if found := c.Find(name); found != nil {
			return found
		}
	}
	return nil
}

// BelongsAt tells whether the hypothesis is tested at a focus where its parent holds.
func (h *Hypothesis) BelongsAt(f grid.Focus) bool {
	switch h.At {
	case "whole":
		return f.IsWhole()
	case "object":
		return (f.Depth(grid.SyncObject) > 1 || f.Depth(grid.IO) > 1) && foci.Suppressed(f, h.Suppress) == ""
	}
	return true
}

// Pairs are what the test reads at a focus, in the order of the metrics.
func (h *Hypothesis) Pairs(f grid.Focus) []grid.PairKey {
	keys := make([]grid.PairKey, len(h.Metrics))
	for i, m := range h.Metrics {
		keys[i] = grid.PairKey{Metric: m, Focus: f}
		if h.Global[i] {
			keys[i].Focus = grid.Whole()
		}
	}
	return keys
}

// Unit is that of the value: "fraction" of a share, else what the hypothesis says; "" where it says nothing.
func (h *Hypothesis) Unit() string {
	if h.Fraction {
		return "fraction"
	}
	return h.Units
}

// Top makes the root of the why axis.
func Top() *Hypothesis {
	return &Hypothesis{Name: TopName, Test: decide.NewTest(nil, nil, true, nil, nil)}
}

// Tree links the hypotheses into a tree and returns its root, "top"; parents names the parent of each.
// It fails for two of one name, an unknown parent, and a circle.
func Tree(list []*Hypothesis, parents []string) (*Hypothesis, error) {
	top, names := Top(), make([]string, len(list))
	for i, h := range list {
		names[i] = h.Name
	}
	of, err := links.Parents(names, parents, TopName)
	if err != nil {
		return nil, err
	}
	for i, h := range list {
		if h.Parent = top; of[i] >= 0 {
			h.Parent = list[of[i]]
		}
		h.Parent.Children = append(h.Parent.Children, h)
	}
	return top, nil
}
