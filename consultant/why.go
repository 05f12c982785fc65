package consultant

import (
	"fmt"
	"math"
	"strings"

	"culprit/grid"
	"culprit/pcl"
)

// topName is the name of the root of the why axis.
const topName = "top"

// A hypothesis is one entry of the why axis with its place in the tree.
type hypothesis struct {
	name, label string
	parent      *hypothesis // nil: the root
	children    []*hypothesis
	greater     bool
	refine      []grid.Hierarchy
	defined     []string // hierarchies that texts define, along which grid.Defined is meant
	base        func(item grid.Focus) grid.Hierarchy
	suppress    []string
	metrics     []string
	global      []bool // by index of metrics: read at the whole program
	index       map[string]int
	kind        string // what stack samples say something about it: "cpu", "sync" or "io"
	fraction    bool   // its value is a share of time
	why, where  bool   // which refinements follow when it is true

	additiveTest bool // see scales

	value, threshold func(get func(metric string) float64) float64
}

// newHypothesis takes over one hypothesis as PCL wrote it.
func newHypothesis(p *pcl.Hypothesis) *hypothesis {
	return (&hypothesis{
		why: p.Expand != "where", where: p.Expand != "why", name: p.Name, label: p.Label, greater: p.Greater, refine: p.Refine, defined: p.Defined, suppress: p.Suppress,
		metrics: p.Metrics, value: p.Value, threshold: p.Threshold,
	}).prepare(p.Global)
}

func (h *hypothesis) prepare(global []string) *hypothesis {
	h.index = make(map[string]int, len(h.metrics))
	h.global = make([]bool, len(h.metrics))
	for i, m := range h.metrics {
		h.index[m] = i
		for _, g := range global {
			h.global[i] = h.global[i] || g == m
		}
	}
	h.kind = h.sampleKind()
	h.fraction = strings.Contains(h.label, "{percent}")
	h.additiveTest = h.scales()
	return h
}

// sampleKind tells which stack samples support the hypothesis, by the first metric that it reads at its own focus.
func (h *hypothesis) sampleKind() string {
	for i, m := range h.metrics {
		switch {
		case h.global[i]:
		case strings.HasPrefix(m, "sync") || strings.HasPrefix(m, "lock") || strings.Contains(m, "_sync_"):
			return "sync"
		case strings.HasPrefix(m, "io") || strings.HasPrefix(m, "msg"):
			return "io"
		default:
			return "cpu"
		}
	}
	return "cpu"
}

// additive tells whether the value at a focus is a part of the value at the focus it refines, so that a part cannot
// exceed its whole.
func (h *hypothesis) additive() bool { return h.additiveTest }

// scales finds out whether the left side grows with every metric that is read at the focus, and doubles when all of them
// do: then it is the more the more happens there, and a part has less than the whole. A ratio of two such metrics does
// not double. The expression is asked for its value at fixed points since it cannot be read.
func (h *hypothesis) scales() bool {
	if !h.greater || h.locals() == 0 {
		return false
	}
	points := [][]float64{{0.3, 0.7, 0.2, 0.5}, {0.05, 0.011, 0.4, 0.09}, {3.1, 1.7, 2.3, 5.9}, {40, 900, 7, 130}}
	moved := false
	for _, p := range points {
		base := h.probe(p, func(int) float64 { return 1 })
		doubled := h.probe(p, func(int) float64 { return 2 })
		if math.Abs(doubled-2*base) > 1e-9*math.Abs(doubled) {
			return false
		}
		moved = moved || base > 0
		for i := range h.metrics {
			more := h.probe(p, func(j int) float64 { return 1 + btof(i == j) })
			if !h.global[i] && more < base-1e-9*math.Abs(base) {
				return false
			}
		}
	}
	return moved
}

// probe evaluates the left side with values taken from p in turn, those read at the focus times a factor.
func (h *hypothesis) probe(p []float64, factor func(i int) float64) float64 {
	return h.value(func(metric string) float64 {
		i, ok := h.index[metric]
		switch {
		case !ok:
			return 0
		case h.global[i]:
			return 4
		}
		return p[i%len(p)] * factor(i)
	})
}

func btof(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (h *hypothesis) locals() int {
	n := 0
	for _, g := range h.global {
		if !g {
			n++
		}
	}
	return n
}

// sampled tells whether the share of stack samples estimates the value.
func (h *hypothesis) sampled() bool {
	if !h.additive() {
		return false
	}
	for i, m := range h.metrics {
		if !h.global[i] {
			return strings.HasPrefix(m, "cpu") || strings.HasPrefix(m, "sync_wait") || strings.HasPrefix(m, "io_wait")
		}
	}
	return false
}

// judge evaluates both sides for the averages sums/n of the metrics, given in their order.
func (h *hypothesis) judge(sums []float64, n float64) (value, threshold float64) {
	get := func(metric string) float64 {
		if i, ok := h.index[metric]; ok && n > 0 {
			return sums[i] / n
		}
		return 0
	}
	return h.value(get), h.threshold(get)
}

// margin is how far the value is beyond the threshold: positive where the hypothesis holds.
func (h *hypothesis) margin(value, threshold float64) float64 {
	if h.greater {
		return value - threshold
	}
	return threshold - value
}

// nothing tells that a test for a value that is too small saw no activity at all: x/0 is 0 and would look true. A test may
// also say by itself that too little happened, by a value that is the threshold.
func (h *hypothesis) nothing(sums []float64, value, threshold float64) bool {
	if h.greater || h.locals() == 0 {
		return false
	}
	if value == threshold {
		return true
	}
	for i, v := range sums {
		if !h.global[i] && v != 0 {
			return false
		}
	}
	return true
}

// keys are the pairs that the test reads at a focus, in the order of the metrics.
func (h *hypothesis) keys(f grid.Focus) []grid.PairKey {
	keys := make([]grid.PairKey, len(h.metrics))
	for i, m := range h.metrics {
		keys[i] = grid.PairKey{Metric: m, Focus: f}
		if h.global[i] {
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

// whyTree links the hypotheses into a tree and returns its root, "top"; parents names the parent of each.
// It fails for two of one name, an unknown parent, and a circle.
func whyTree(list []*hypothesis, parents []string) (*hypothesis, error) {
	top := &hypothesis{name: topName}
	byName := map[string]*hypothesis{topName: top, "": top}
	for _, h := range list {
		if byName[h.name] != nil {
			return nil, fmt.Errorf("hypothesis %q is defined twice; rename or remove one", h.name)
		}
		byName[h.name] = h
	}
	for i, h := range list {
		p := byName[parents[i]]
		if p == nil {
			return nil, fmt.Errorf("hypothesis %q has the parent %q, which is not defined; define it or use %q",
				h.name, parents[i], topName)
		}
		h.parent = p
		p.children = append(p.children, h)
	}
	for _, h := range list {
		steps := 0
		for p := h; p != top; p = p.parent {
			if steps++; steps > len(list) {
				return nil, fmt.Errorf("hypothesis %q is its own ancestor; give it another parent", h.name)
			}
		}
	}
	return top, nil
}
