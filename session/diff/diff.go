// Package diff compares two reports of the same program: which bottlenecks are new, gone, worse or better, and which differ by no more than
// the two measurements err.
//
// It reads reports only, and must not import the search or a daemon. Its values belong to one goroutine.
package diff

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"culprit/session/report"
)

// A Kind is what became of a bottleneck.
type Kind string

// The kinds. Same is that of a value that has changed by no more than sameWithin. Undecided is that of a difference that the errors of the two values
// explain, and that may be larger; or of a value that one report does not have.
const (
	New       Kind = "new"
	Gone      Kind = "gone"
	Worse     Kind = "worse"
	Better    Kind = "better"
	Same      Kind = "same"
	Undecided Kind = "undecided"
)

// A Side is what one report says of a place.
type Side struct {
	State    string        `json:"state"`
	Value    report.Number `json:"value"`             // over all readings where the report has that, else the latest
	Error    report.Number `json:"error"`             // its standard error
	Readings int           `json:"readings"`          // 0: the value means nothing
	Severity report.Number `json:"severity"`          // of the bottleneck; 0 where it is none
	Found    bool          `json:"found"`             // it is a bottleneck of the report
	AtMost   bool          `json:"at_most,omitempty"` // the place was not measured: the value is that of the smallest place around it that was
}

// A Change is a bottleneck of one report, or of both.
type Change struct {
	Kind       Kind          `json:"kind"`
	Hypothesis string        `json:"hypothesis"`
	Focus      report.Focus  `json:"focus"` // without numbers of processes and threads, and without addresses
	Unit       string        `json:"unit"`
	A          *Side         `json:"a"`    // null if the report does not know the place
	B          *Side         `json:"b"`    // same
	Size       report.Number `json:"size"` // 0..1: the share of the program's active time that the change is about
	Why        string        `json:"why,omitempty"`
}

// Compare compares two reports, A being the earlier one. The changes come first, the largest before the others; then what is the same, then what is undecided. It is an
// error if one of them has no search, or nothing was measured in it.
func Compare(a, b *report.Report) ([]Change, error) {
	for i, r := range []*report.Report{a, b} {
		name := [...]string{"the first report", "the second report"}[i]
		switch {
		case r.NotSearched:
			return nil, errors.New(name + " is of a measurement without a search (--no-search): it has no bottlenecks to compare")
		case !slices.ContainsFunc(r.Nodes, func(n report.Node) bool { return n.Samples > 0 }):
			return nil, errors.New(name + " has no value: nothing was tested in it")
		}
	}
	ia, ib := indexOf(a), indexOf(b)
	var keys []string
	for _, i := range []*index{ia, ib} {
		for _, k := range i.found {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	var list []Change
	for _, k := range keys {
		list = append(list, compare(ia.orAround(k, ib), ib.orAround(k, ia)))
	}
	slices.SortStableFunc(list, func(x, y Change) int {
		return cmp.Or(cmp.Compare(late(x.Kind), late(y.Kind)), cmp.Compare(y.Size, x.Size), strings.Compare(x.Focus.String(), y.Focus.String()))
	})
	return list, nil
}

func late(k Kind) int {
	switch k {
	case Same:
		return 1
	case Undecided:
		return 2
	}
	return 0
}

// A place is a hypothesis at a focus, in one report.
type place struct {
	around   bool // the value is that of a place around it
	node     *report.Node
	focus    report.Focus
	severity float64
	found    bool
}

// An index has the places of a report by their names without what differs from run to run.
type index struct {
	places map[string]*place
	found  []string // the keys of bottlenecks, the worst first
}

func indexOf(r *report.Report) *index {
	x := &index{places: map[string]*place{}}
	severity, found := map[int]float64{}, map[int]bool{}
	for _, b := range r.Notes {
		severity[b.Node] = float64(b.Severity)
	}
	for _, b := range r.Bottlenecks {
		severity[b.Node], found[b.Node] = float64(b.Severity), true
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if len(n.Parents) == 0 || n.Phase.Name != "" && n.Phase.Name != "global" {
			continue
		}
		p := &place{node: n, focus: n.Focus.Lasting(), severity: severity[n.ID], found: found[n.ID]}
		key := n.Hypothesis + " " + p.focus.String()
		if old := x.places[key]; old == nil || p.weight() > old.weight() {
			x.places[key] = p // of threads that cannot be distinguished the one with most
		}
		if p.found && !slices.Contains(x.found, key) {
			x.found = append(x.found, key)
		}
	}
	return x
}

// orAround is a place, or, where the report did not measure it and the other one did, the one around it with the smallest share of time: a part of it
// has no more.
func (x *index) orAround(key string, other *index) *place {
	p := x.places[key]
	o := other.places[key]
	if p.knows() || !o.knows() || !o.isShare() {
		return p
	}
	best := p
	for _, q := range x.places {
		if q.node.Hypothesis == o.node.Hypothesis && q.knows() && q.isShare() && q.focus.Covers(o.focus) && (!best.knows() || q.side().Value < best.side().Value) {
			best = &place{node: q.node, focus: o.focus, around: true}
		}
	}
	return best
}

// isShare tells that the value is a share of time that is too large.
func (p *place) isShare() bool { return p.node.Unit == "fraction" && p.node.Greater }

func (p *place) weight() float64 {
	if p.node.Samples == 0 {
		return -1
	}
	w := p.severity
	if p.found {
		w++
	}
	return w
}

func (p *place) side() *Side {
	if p == nil {
		return nil
	}
	s := &Side{State: p.node.State, Value: p.node.Value, Readings: p.node.Samples, Severity: report.Number(p.severity), Found: p.found, AtMost: p.around}
	if p.node.Error != nil {
		s.Error = *p.node.Error
	}
	if m := p.node.Mean; m != nil {
		s.Value, s.Error = m.Value, m.Error
	}
	return s
}

// knows tells that the error of the value is known.
func (p *place) knows() bool {
	return p != nil && p.node.Samples > 0 && (p.node.Error != nil || p.node.Mean != nil) &&
		report.NoValue(p.node.Greater, float64(p.node.Value), float64(p.node.Threshold)) == ""
}

// What is a difference. One run of a program differs from the next by more than either shows by itself.
const (
	runError = 0.015 // of a value; its standard deviation from run to run
	sureBy   = 2.5   // standard errors of the difference
	// sameWithin is by which part a value may have changed at most that is the same.
	sameWithin = 0.1
)

func compare(a, b *place) Change {
	named := cmp.Or(b, a)
	c := Change{Kind: Undecided, Hypothesis: named.node.Hypothesis, Focus: named.focus, Unit: named.node.Unit, A: a.side(), B: b.side()}
	if !a.knows() || !b.knows() {
		c.Why = "it was never measured in " + unmeasured(a, b) + ", or not long enough to know the error"
		return c
	}
	va, vb := float64(c.A.Value), float64(c.B.Value)
	larger := max(math.Abs(va), math.Abs(vb))
	err := math.Hypot(math.Hypot(float64(c.A.Error), float64(c.B.Error)), math.Sqrt2*runError*larger)
	worse := vb - va
	if !named.node.Greater {
		worse = -worse
	}
	c.Size = report.Number(max(a.severity, b.severity) * math.Abs(vb-va) / max(larger, math.SmallestNonzeroFloat64))
	switch {
	case !a.around && !b.around && math.Abs(worse)+sureBy*err < sameWithin*larger:
		c.Kind = Same
	case math.Abs(worse) < sureBy*err || larger == 0:
		c.Why = "two runs of the same program differ by as much"
	case a.around && worse < 0, b.around && worse > 0:
		c.Why = "it was never measured in " + unmeasured(a, b) + ", and around it there is more than in the other one"
	case worse > 0 && a.node.State == "true":
		c.Kind = Worse
	case worse > 0:
		c.Kind = New
	case b.node.State == "true":
		c.Kind = Better
	default:
		c.Kind = Gone
	}
	return c
}

func unmeasured(a, b *place) string {
	switch {
	case !a.knows() && !b.knows():
		return "either"
	case !a.knows(), a.around:
		return "the first report"
	}
	return "the second report"
}

// IsWorse tells that a bottleneck is new or worse.
func IsWorse(list []Change) bool {
	return slices.ContainsFunc(list, func(c Change) bool { return c.Kind == New || c.Kind == Worse })
}
