package pcl

import (
	"fmt"
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// matchOrder is the order in which flags are set and tested: code before objects.
var matchOrder = [...]grid.Hierarchy{grid.Code, grid.SyncObject, grid.IO, grid.Memory, grid.Machine, grid.Process}

// needsNone: to restrict a metric to a process or a machine it is enough to choose where it is inserted.
func needsNone(h grid.Hierarchy) bool { return h == grid.Process || h == grid.Machine }

// A Match is what applies to a metric at a focus.
type Match struct {
	Replace *Constraint   // it counts instead of the base; nil if none does
	Flags   []*Constraint // in the order of matchOrder
	Key     *Constraint   // one that is a key; nil if none is
	Union   *Union        // of the item that the focus selects; nil if it selects none
}

// Match finds the constraints of m that apply at the focus, and at the item that it selects, if it does.
func (m *Metric) Match(focus grid.Focus, item *GroupingItem) (Match, error) {
	var out Match
	for _, h := range matchOrder {
		elems := focus.Elements(h)
		if item != nil && item.Base == h {
			if err := out.matchItem(m, focus, item); err != nil {
				return out, err
			}
			continue
		}
		if len(elems) == 0 {
			continue
		}
		covered := needsNone(h)
		for _, c := range m.Constraints {
			if c.Hierarchy != h || !c.matches(elems) {
				continue
			}
			covered = true
			switch {
			case c.Replace && out.Replace != nil:
				return out, syntax.ErrorAt(c.Pos, "metric %s at %v: both %s and %s would replace the base; name one hierarchy only",
					m.Name, focus, out.Replace.Ident, c.Ident)
			case c.Replace:
				out.Replace = c
			case c.Key && out.Key != nil:
				return out, syntax.ErrorAt(c.Pos, "metric %s at %v: both %s and %s are keys; keep one of them", m.Name, focus, out.Key.Ident, c.Ident)
			case c.Key:
				out.Key = c
			case c.Body != nil:
				out.Flags = append(out.Flags, c)
			}
		}
		if !covered {
			return out, &NoConstraint{Metric: m.Name, Hierarchy: h, Focus: focus, Known: m.paths()}
		}
	}
	return out, out.dropFlags(m, focus)
}

// dropFlags: a replacement counts by itself and no flag is made with it. A flag of another hierarchy would be lost
// without a word, so that is refused.
func (x *Match) dropFlags(m *Metric, focus grid.Focus) error {
	if x.Replace == nil {
		return nil
	}
	restricting := x.Flags
	if x.Key != nil {
		restricting = append(slices.Clone(restricting), x.Key)
	}
	for _, c := range restricting {
		if c.Hierarchy != x.Replace.Hierarchy || c.Key {
			return syntax.ErrorAt(x.Replace.Pos, "metric %s at %v: %s replaces the base, so the metric cannot be restricted by %s at the same time",
				m.Name, focus, x.Replace.Ident, c.Ident)
		}
	}
	x.Flags = nil
	return nil
}

// Body is what counts: the replacement, or the base.
func (x *Match) Body(m *Metric) *Body {
	if x.Replace != nil {
		return x.Replace.Body
	}
	return m.Base
}

// Supported finds what this version cannot do in the bodies that apply, whether or not the target has the functions.
func (x *Match) Supported(m *Metric, focus grid.Focus) error {
	counting := x.Body(m)
	if counting.Unsupported != nil {
		return counting.Unsupported
	}
	for _, f := range x.bodies() {
		if f.Body.Unsupported != nil {
			return f.Body.Unsupported
		}
	}
	if err := x.restricts(m, focus); err != nil {
		return err
	}
	if counting.Event != "" && len(x.Flags) > 0 {
		return &Unsupported{Pos: counting.Pos, What: fmt.Sprintf("hwCounter(%q) at %v", counting.Event, focus), Needs: ProbesReadCounters}
	}
	if counting.Kind == Kernel && len(x.Flags) > 1 {
		return &Unsupported{Pos: counting.Pos, What: fmt.Sprintf("%s, kept by the kernel, at %v", m.Name, focus), Needs: x.timersNeed()}
	}
	if err := counting.gaugeAt(m, focus); err != nil {
		return err
	}
	if len(focus.Elements(grid.Machine)) > 1 {
		return &Unsupported{Pos: counting.Pos, What: fmt.Sprintf("%s for a single CPU", m.Name), Needs: "counts by CPU"}
	}
	if n := len(focus.Elements(grid.Process)); n > 2 {
		return fmt.Errorf("%v: found %d names below /Process, expected a process and a thread", focus, n)
	}
	return nil
}

// restricts refuses a focus whose flags no code of the base waits for: the value would be that of the whole program.
func (x *Match) restricts(m *Metric, focus grid.Focus) error {
	if len(x.Flags) == 0 || !m.Base.Inserts || m.Base.Constrained {
		return nil
	}
	return syntax.ErrorAt(m.Base.Pos, "metric %s at %v: no code of its base is constrained, so that %s restricts nothing: write append preInsn ... constrained (* ... *)",
		m.Name, focus, x.Flags[0].Ident)
}

// timersNeed says what a kernel base would need to be measured under several constraints at once.
func (x *Match) timersNeed() string {
	return fmt.Sprintf("one timer for both constraints, %s and %s; choose a focus with one of them", x.Flags[0].Ident, x.Flags[1].Ident)
}

// gaugeAt refuses to tell the threads of a process apart in what is one value of all of them.
func (b *Body) gaugeAt(m *Metric, focus grid.Focus) error {
	if b.Kind == Gauge && len(focus.Elements(grid.Process)) > 1 {
		return fmt.Errorf("%s at %v: found a thread, expected a process: its base is a gauge, which is one value of the whole process; one of each thread is written \"base is counter\"",
			m.Name, focus)
	}
	return nil
}

// Check reports whether the metric can be read at the focus as far as that is known without a target. The error is
// *UnknownMetric, *NoConstraint, *Unsupported or *syntax.Error.
func (l *Library) Check(metric string, focus grid.Focus) error {
	m, err := l.Find(metric)
	if err != nil {
		return err
	}
	x, err := l.Match(m, focus)
	if err != nil {
		return err
	}
	return x.Supported(m, focus)
}
