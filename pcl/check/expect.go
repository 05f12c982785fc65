package check

import (
	"slices"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

func (b *builder) checkExpect(d *syntax.Def) error {
	out := pcl.Expect{Name: d.Name}
	for _, it := range d.Items {
		e := pcl.Expectation{Text: it.Expr.String(), Not: it.Not}
		if len(it.Values) > 0 {
			f, err := b.focus(it.Values[0].Text)
			if err != nil {
				return syntax.ErrorAt(it.Values[0].Pos, "expect %s: found a bad focus: %v", d.Name, err)
			}
			e.Focus = f
			e.Text += " at " + it.Values[0].String()
		}
		if err := b.expectation(&e, it.Expr); err != nil {
			return err
		}
		if err := b.measurable(&e); err != nil {
			return syntax.ErrorAt(it.Expr.Pos, "expect %s: found %s, expected a focus at which it can be read: %v", d.Name, it.Expr, err)
		}
		out.Of = append(out.Of, e)
	}
	b.defs.Expects = append(b.defs.Expects, out)
	return nil
}

func (b *builder) expectation(e *pcl.Expectation, expr *syntax.Expr) (err error) {
	if expr.Kind == syntax.Ident {
		h := b.placed[expr.Text]
		if h == nil {
			return syntax.ErrorAt(expr.Pos, "found the unknown hypothesis %q%s, expected one that is defined, or a comparison such as cpu > 0.5", expr.Text, syntax.DidYouMean(expr.Text, names(b, b.placed)))
		}
		e.Hypothesis, e.Greater, e.Unit = expr.Text, h.Greater, h.Unit
		for _, m := range h.Metrics {
			e.Readings = append(e.Readings, pcl.Reading{Name: m, Metric: m, Whole: slices.Contains(h.Global, m)})
		}
		return nil
	}
	r := &exprReader{b: b, local: map[string]bool{}, expects: true}
	if e.Comparison, err = r.comparison(expr); err != nil {
		return err
	}
	e.Metrics, e.Global, e.Readings = r.metrics, r.global, r.readings
	return nil
}

// measurable reports why an expectation can be measured in no target: one of its metrics cannot be restricted to the focus.
func (b *builder) measurable(e *pcl.Expectation) error {
	metrics, global := e.Metrics, e.Global
	if i := slices.IndexFunc(b.defs.Hypotheses, func(h *pcl.Hypothesis) bool { return h.Name == e.Hypothesis }); i >= 0 {
		metrics, global = b.defs.Hypotheses[i].Metrics, b.defs.Hypotheses[i].Global
	}
	item, err := b.defs.Groupings.Item(e.Focus)
	if err != nil {
		return err
	}
	for _, name := range metrics {
		focus, it := e.Focus, item
		if slices.Contains(global, name) {
			focus, it = grid.Whole(), nil
		}
		if _, err := b.metric(name).Match(focus, it); err != nil {
			return err
		}
	}
	return nil
}
