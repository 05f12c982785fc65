package pcl

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// checkHypothesis checks all but the parent, which may be defined later.
func (b *builder) checkHypothesis(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "test")
	}
	if err != nil {
		return err
	}
	h := &Hypothesis{Name: d.Name, Parent: first(have["parent"]), Label: first(have["label"]), Explain: first(have["explain"]),
		Expand: "whyAndWhere"}
	if it := have["expand"]; it != nil {
		if err := oneOf(it, "why", "where", "whyAndWhere"); err != nil {
			return err
		}
		h.Expand = first(it)
	}
	if h.Label == "" {
		h.Label = d.Name + " holds at {focus}: {value}"
	}
	if err = checkLabel(have["label"]); err != nil {
		return err
	}
	r := &exprReader{b: b, local: map[string]bool{}}
	if h.value, h.threshold, h.Greater, err = r.comparison(have["test"].Expr); err != nil {
		return err
	}
	h.Metrics, h.Global, h.unit = r.metrics, r.global, r.unitOfTest(have["test"].Expr)
	if err = b.foci(d, h, have); err != nil {
		return err
	}
	b.hypotheses = append(b.hypotheses, h)
	return nil
}

// placeholders are what a label may ask the consultant to fill in.
var placeholders = []string{"percent", "value", "threshold", "function", "source", "object", "process", "since", "focus"}

func checkLabel(it *syntax.Item) error {
	for rest := first(it); ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return nil
		}
		name, behind, ok := strings.Cut(after, "}")
		if !ok || !slices.Contains(placeholders, name) {
			return errorAt(it.Values[0].Pos, "found the placeholder {%.20s}, expected one of {%s}%s", name, strings.Join(placeholders, "} {"),
				syntax.DidYouMean(name, placeholders))
		}
		rest = behind
	}
}

// foci reads refine and suppress.
func (b *builder) foci(d *syntax.Def, h *Hypothesis, have map[string]*syntax.Item) error {
	if it := have["refine"]; it != nil {
		for _, v := range it.Values {
			hier, err := b.refineName(h, v.Text)
			if err != nil {
				return errorAt(v.Pos, "hypothesis %s: %v", d.Name, err)
			}
			if hier == grid.Defined {
				continue
			}
			for _, name := range h.Metrics {
				if m := b.metric(name); !slices.Contains(h.Global, name) && !m.covers(hier) {
					return errorAt(v.Pos, `hypothesis %s: found refine %v, but its metric %s has no constraint there; expected it as %s@"/", or with a constraint`,
						d.Name, hier, name, name)
				}
			}
			if slices.Contains(h.Refine, hier) {
				return errorAt(v.Pos, "hypothesis %s: found %v a second time, expected it once", d.Name, hier)
			}
			h.Refine = append(h.Refine, hier)
		}
	}
	if it := have["suppress"]; it != nil {
		for _, v := range it.Values {
			if _, err := b.suppressed(v.Text); err != nil {
				return errorAt(v.Pos, "hypothesis %s: found a bad path: %v", d.Name, err)
			}
			h.Suppress = append(h.Suppress, v.Text)
		}
	}
	return nil
}

// orderHypotheses puts parents before their children and drops those whose parent is missing or that are their own
// ancestors.
func (b *builder) orderHypotheses() {
	o := &hypothesisOrder{byName: map[string]*Hypothesis{}, state: map[*Hypothesis]placing{}}
	for _, h := range b.hypotheses {
		o.byName[h.Name] = h
	}
	for _, h := range b.hypotheses {
		if o.place(h) {
			continue
		}
		pos := b.parentPos(h.Name)
		if o.byName[h.Parent] == nil {
			b.problem(problemAt(pos, "hypothesis %s: found the parent %q, which is not defined%s, expected another hypothesis or top", h.Name, h.Parent,
				syntax.DidYouMean(h.Parent, names(b, o.byName))))
			continue
		}
		b.problem(problemAt(pos, "hypothesis %s: found the parent %q, which is its own descendant or was left out, expected another one or top", h.Name, h.Parent))
	}
	b.hypotheses, b.placed = o.out, map[string]*Hypothesis{}
	for _, h := range o.out {
		b.placed[h.Name] = h
	}
}

// parentPos is where a hypothesis names its parent.
func (b *builder) parentPos(name string) syntax.Pos {
	d := b.chosen["hypothesis"][name]
	for _, it := range d.Items {
		if it.Key == "parent" {
			return it.Values[0].Pos
		}
	}
	return d.Pos
}

type placing uint8

const (
	unseen placing = iota
	underWay
	placed
	dropped
)

type hypothesisOrder struct {
	byName map[string]*Hypothesis
	state  map[*Hypothesis]placing
	out    []*Hypothesis
}

// place appends h behind its parent and reports whether that could be done.
func (o *hypothesisOrder) place(h *Hypothesis) bool {
	if o.state[h] != unseen {
		return o.state[h] == placed
	}
	o.state[h] = underWay
	if h.Parent != "" && h.Parent != "top" {
		if parent := o.byName[h.Parent]; parent == nil || !o.place(parent) {
			o.state[h] = dropped
			return false
		}
	}
	o.state[h] = placed
	o.out = append(o.out, h)
	return true
}

// An Expect is a named set of expectations, for use in tests of performance.
type Expect struct {
	Name string
	Of   []Expectation
}

// An Expectation is one line of an Expect: a hypothesis, or a comparison of metrics, at a focus.
type Expectation struct {
	Text       string // as written, for messages
	Not        bool
	Focus      grid.Focus
	Hypothesis string   // "" for a comparison
	Metrics    []string // that the comparison reads at Focus, those in Global at the whole program
	Global     []string
	Readings   []Reading // the values that it reads, those of its hypothesis included; in order of first use
	Greater    bool
	OrEqual    bool   // it is written with <= or >=
	Unit       string // of the value and the threshold; "" if they have none, or none that is known

	value, threshold evaluable
}

// Relation is how the value is compared with the threshold, Not left out: "<", "<=", ">" or ">=".
func (e *Expectation) Relation() string {
	out := "<"
	if e.Greater {
		out = ">"
	}
	if e.OrEqual {
		out += "="
	}
	return out
}

// Holds evaluates a comparison, Not included; get returns the average of a metric. It is false for a hypothesis.
func (e *Expectation) Holds(get func(metric string) float64) bool {
	if e.value == nil {
		return false
	}
	v, t := e.value(get), e.threshold(get)
	switch e.Relation() {
	case ">":
		return v > t != e.Not
	case ">=":
		return v >= t != e.Not
	case "<=":
		return v <= t != e.Not
	}
	return v < t != e.Not
}

func (b *builder) checkExpect(d *syntax.Def) error {
	out := Expect{Name: d.Name}
	for _, it := range d.Items {
		e := Expectation{Text: it.Expr.String(), Not: it.Not}
		if len(it.Values) > 0 {
			f, err := b.focus(it.Values[0].Text)
			if err != nil {
				return errorAt(it.Values[0].Pos, "expect %s: found a bad focus: %v", d.Name, err)
			}
			e.Focus = f
			e.Text += " at " + it.Values[0].String()
		}
		if err := b.expectation(&e, it.Expr); err != nil {
			return err
		}
		if err := b.measurable(&e); err != nil {
			return errorAt(it.Expr.Pos, "expect %s: found %s, expected a focus at which it can be read: %v", d.Name, it.Expr, err)
		}
		out.Of = append(out.Of, e)
	}
	b.lib.expects = append(b.lib.expects, out)
	return nil
}

func (b *builder) expectation(e *Expectation, expr *syntax.Expr) (err error) {
	if expr.Kind == syntax.Ident {
		h := b.placed[expr.Text]
		if h == nil {
			return errorAt(expr.Pos, "found the unknown hypothesis %q%s, expected one that is defined, or a comparison such as cpu > 0.5", expr.Text, syntax.DidYouMean(expr.Text, names(b, b.placed)))
		}
		e.Hypothesis, e.Greater, e.Unit = expr.Text, h.Greater, h.unit
		for _, m := range h.Metrics {
			e.Readings = append(e.Readings, Reading{Name: m, Metric: m, Whole: slices.Contains(h.Global, m)})
		}
		return nil
	}
	r := &exprReader{b: b, local: map[string]bool{}, expects: true}
	if e.value, e.threshold, e.Greater, err = r.comparison(expr); err != nil {
		return err
	}
	e.OrEqual = len(expr.Text) > 1
	e.Metrics, e.Global, e.Readings, e.Unit = r.metrics, r.global, r.readings, r.unitOfTest(expr)
	return nil
}
