package pcl

import (
	"slices"
	"strings"

	"culprit/pcl/syntax"
)

// fewNames is how many functions Lacking names.
const fewNames = 4

// Lacking says of a metric whose functions a target does not have which these are: ": a, b". Of those that begin with "__", which the C
// library keeps to itself, it says where they have names. It is "" if the metric names none.
func (l *Library) Lacking(metric string) string {
	m := l.byName[metric]
	if m == nil || m.Base.Block == nil {
		return ""
	}
	named := l.functionsNamed(m)
	if len(named) == 0 {
		return ""
	}
	inside := !slices.ContainsFunc(named, func(name string) bool { return !strings.HasPrefix(name, "__") })
	text := ": " + strings.Join(named[:min(len(named), fewNames)], ", ")
	if len(named) > fewNames {
		text += " .."
	}
	if inside {
		text += "; what is inside of the C library has names where its debug symbols are installed"
	}
	return text
}

// functionsNamed are the functions that a base names, by $function and by its lists; patterns as they are written.
func (l *Library) functionsNamed(m *Metric) (names []string) {
	m.Base.Block.Walk(func(e *syntax.Expr) bool {
		if e.Kind == syntax.Call && e.Text == "$function" {
			names = append(names, e.Args[0].Text)
		}
		return true
	})
	for _, list := range m.Base.Lists {
		if x := l.lists[list]; x.Kind == "procedure" {
			for _, v := range x.Items {
				names = append(names, v.Text)
			}
		}
	}
	return names
}
