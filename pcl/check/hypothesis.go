package check

import (
	"slices"
	"strings"

	"culprit/pcl"
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
	h := &pcl.Hypothesis{Name: d.Name, Parent: first(have["parent"]), Label: first(have["label"]), Explain: first(have["explain"]),
		Expand: "whyAndWhere"}
	if it := have["expand"]; it != nil {
		if err := oneOf(it, "why", "where", "whyAndWhere"); err != nil {
			return err
		}
		h.Expand = first(it)
	}
	h.Stands = have["explained"] != nil && have["explained"].Values[0].Num == 0
	if it := have["at"]; it != nil {
		if err := oneOf(it, "whole", "object"); err != nil {
			return err
		}
		h.At = first(it)
	}
	if h.Label == "" {
		h.Label = d.Name + " holds at {focus}: {value}"
	}
	if err = checkLabel(have["label"]); err != nil {
		return err
	}
	r := &exprReader{b: b, local: map[string]bool{}}
	if h.Comparison, err = r.comparison(have["test"].Expr); err != nil {
		return err
	}
	if err = r.given(h, have["given"]); err != nil {
		return err
	}
	if h.Stake, err = r.formula(have["stake"]); err != nil {
		return err
	}
	if err = r.whole(h, have["whole"], have["used"], have["units"]); err != nil {
		return err
	}
	h.Metrics, h.Global = r.metrics, r.global
	h.Kept = !slices.ContainsFunc(h.Metrics, func(name string) bool { return !b.metric(name).Kept() })
	if err = b.foci(d, h, have); err != nil {
		return err
	}
	b.defs.Hypotheses = append(b.defs.Hypotheses, h)
	return nil
}

// given reads the comparison that says where the test applies, if there is one.
func (r *exprReader) given(h *pcl.Hypothesis, it *syntax.Item) error {
	if it == nil {
		return nil
	}
	c, err := r.comparison(it.Expr)
	if err == nil {
		h.Given = &c
	}
	return err
}

// formula reads the expression of an item, if there is one.
func (r *exprReader) formula(it *syntax.Item) (pcl.Formula, error) {
	if it == nil {
		return nil, nil
	}
	return r.read(it.Expr)
}

// whole reads how many units a value of 1 is and how many there were, if that is told.
func (r *exprReader) whole(h *pcl.Hypothesis, whole, used, units *syntax.Item) (err error) {
	switch {
	case whole == nil && used != nil:
		return syntax.ErrorAt(used.Expr.Pos, "found used without whole, expected both: used says how many of the units there were")
	case whole == nil && units != nil && strings.Contains(h.Label, "{percent}"):
		return syntax.ErrorAt(units.Values[0].Pos, "found units without whole, expected both: whole says how many of them a value of 1 is")
	case whole != nil && units == nil:
		return syntax.ErrorAt(whole.Expr.Pos, "found whole without units, expected both: units says of what it is a number")
	}
	h.Units = first(units)
	if h.Whole, err = r.formula(whole); err == nil {
		h.Used, err = r.formula(used)
	}
	return err
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
			return syntax.ErrorAt(it.Values[0].Pos, "found the placeholder {%.20s}, expected one of {%s}%s", name, strings.Join(placeholders, "} {"),
				syntax.DidYouMean(name, placeholders))
		}
		rest = behind
	}
}

// orderHypotheses puts parents before their children and drops those whose parent is missing or that are their own
// ancestors.
func (b *builder) orderHypotheses() {
	o := &hypothesisOrder{byName: map[string]*pcl.Hypothesis{}, state: map[*pcl.Hypothesis]placing{}}
	for _, h := range b.defs.Hypotheses {
		o.byName[h.Name] = h
	}
	for _, h := range b.defs.Hypotheses {
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
	b.defs.Hypotheses, b.placed = o.out, map[string]*pcl.Hypothesis{}
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
	byName map[string]*pcl.Hypothesis
	state  map[*pcl.Hypothesis]placing
	out    []*pcl.Hypothesis
}

// place appends h behind its parent and reports whether that could be done.
func (o *hypothesisOrder) place(h *pcl.Hypothesis) bool {
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
