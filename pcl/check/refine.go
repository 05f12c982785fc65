package check

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// focus reads a focus in a text, which may select an item, and makes sure that there is such an item.
func (b *builder) focus(text string) (grid.Focus, error) {
	f, err := pcl.ParseFocus(text, b.defs.Groupings.Names()...)
	if err == nil {
		_, err = b.defs.Groupings.Item(f)
	}
	return f, err
}

// suppressed reads a path that is never tested: of a fixed hierarchy, or an item. Its names may be patterns.
func (b *builder) suppressed(text string) (grid.Focus, error) {
	return pcl.ParseFocus(text, b.defs.Groupings.Names()...)
}

// refineDefined adds a hierarchy that a text defines to those along which a hypothesis is refined. At least one item of it must be
// one at which the hypothesis can be tested.
func (b *builder) refineDefined(h *pcl.Hypothesis, g *pcl.Grouping) error {
	if slices.Contains(h.Defined, g.Name) {
		return nil
	}
	var last error
	for i := range g.Items {
		if last = b.testable(h, &g.Items[i]); last == nil {
			break
		}
	}
	if last != nil {
		return fmt.Errorf("found refine %s, expected a hierarchy with an item at which the hypothesis can be tested: %w", g.Name, last)
	}
	h.Defined = append(h.Defined, g.Name)
	if !slices.Contains(h.Refine, grid.Defined) {
		h.Refine = append(h.Refine, grid.Defined)
	}
	return nil
}

// testable reports why a hypothesis cannot be tested at an item; nil if it can.
func (b *builder) testable(h *pcl.Hypothesis, it *pcl.GroupingItem) error {
	for _, name := range h.Metrics {
		if slices.Contains(h.Global, name) {
			continue
		}
		if _, err := b.metric(name).Match(it.Focus(), it); err != nil {
			return err
		}
	}
	return nil
}

// refineName is one name of a refine item: a fixed hierarchy, or one that a text defines.
func (b *builder) refineName(h *pcl.Hypothesis, name string) (hier grid.Hierarchy, err error) {
	if hier, err = grid.ParseHierarchy(name); err == nil {
		return hier, nil
	}
	g := b.defs.Groupings.Named(name)
	if g == nil {
		known := slices.Concat(fixedNames(), b.defs.Groupings.Names())
		return 0, fmt.Errorf("found the unknown hierarchy %q, expected one of %s%s", name, strings.Join(known, ", "), syntax.DidYouMean(name, known))
	}
	return grid.Defined, b.refineDefined(h, g)
}

func fixedNames() []string {
	var names []string
	for h := range grid.NumHierarchies {
		names = append(names, h.String())
	}
	return names
}

// foci reads refine and suppress.
func (b *builder) foci(d *syntax.Def, h *pcl.Hypothesis, have map[string]*syntax.Item) error {
	if it := have["refine"]; it != nil {
		for _, v := range it.Values {
			hier, err := b.refineName(h, v.Text)
			if err != nil {
				return syntax.ErrorAt(v.Pos, "hypothesis %s: %v", d.Name, err)
			}
			if hier == grid.Defined {
				continue
			}
			for _, name := range h.Metrics {
				if m := b.metric(name); !slices.Contains(h.Global, name) && !m.Covers(hier) {
					return syntax.ErrorAt(v.Pos, `hypothesis %s: found refine %v, but its metric %s has no constraint there; expected it as %s@"/", or with a constraint`,
						d.Name, hier, name, name)
				}
			}
			if slices.Contains(h.Refine, hier) {
				return syntax.ErrorAt(v.Pos, "hypothesis %s: found %v a second time, expected it once", d.Name, hier)
			}
			h.Refine = append(h.Refine, hier)
		}
	}
	if it := have["suppress"]; it != nil {
		for _, v := range it.Values {
			if _, err := b.suppressed(v.Text); err != nil {
				return syntax.ErrorAt(v.Pos, "hypothesis %s: found a bad path: %v", d.Name, err)
			}
			h.Suppress = append(h.Suppress, v.Text)
		}
	}
	return nil
}
