package check

import (
	"slices"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// hypothesis looks for what the search could never do.
func (w *warner) hypothesis(d *syntax.Def) {
	h := w.hypotheses[d.Name]
	if h == nil {
		return // its parent is missing
	}
	for _, it := range d.Items {
		if it.Key != "suppress" {
			continue
		}
		for _, v := range it.Values {
			f, _ := grid.ParseFocus(v.Text)
			for _, part := range hierarchies() {
				if len(f.Elements(part)) > 0 && h.At == "" && !slices.Contains(h.Refine, part) {
					w.warn(v.Pos, "hypothesis %s: found suppress %s, but it is not refined along %v, expected refine { %v } or no such suppress; it has no effect",
						d.Name, v, part, part)
				}
			}
		}
	}
	w.refusals(d, h)
}

// refusals: a replacement in one hierarchy cannot be combined with a flag or another replacement in a second one.
func (w *warner) refusals(d *syntax.Def, h *pcl.Hypothesis) {
	for _, name := range h.Metrics {
		if slices.Contains(h.Global, name) {
			continue
		}
		m := w.lib.Definition(name)
		for _, a := range m.Constraints {
			for _, b := range m.Constraints {
				if a.Replace && b.Body != nil && a.Hierarchy != b.Hierarchy && slices.Contains(h.Refine, a.Hierarchy) && slices.Contains(h.Refine, b.Hierarchy) {
					w.warn(d.Pos, "hypothesis %s: found refine along %v and %v, expected one of them: metric %s cannot be restricted by %s and %s at once, since %s replaces its base",
						d.Name, a.Hierarchy, b.Hierarchy, name, a.Ident, b.Ident, a.Ident)
					return
				}
			}
		}
	}
}

// expect looks for hypotheses that are never tested where they are expected not to hold.
func (w *warner) expect(d *syntax.Def) {
	for _, it := range d.Items {
		if it.Expr.Kind != syntax.Ident || len(it.Values) == 0 {
			continue
		}
		h := w.hypotheses[it.Expr.Text]
		f, err := grid.ParseFocus(it.Values[0].Text)
		if h == nil || err != nil {
			continue
		}
		for _, part := range hierarchies() {
			if len(f.Elements(part)) > 0 && h.At == "" && !slices.Contains(h.Refine, part) {
				w.warn(it.Values[0].Pos, "expect %s: found %s at a focus in /%v, but it is refined along %v only, expected a focus there; elsewhere it is never tested",
					d.Name, h.Name, part, h.Refine)
			}
		}
	}
}

// hierarchies lists all of them.
func hierarchies() []grid.Hierarchy {
	var out []grid.Hierarchy
	for h := range grid.NumHierarchies {
		out = append(out, h)
	}
	return out
}
