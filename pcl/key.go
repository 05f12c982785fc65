package pcl

import (
	"slices"

	"culprit/grid"
)

// Bases that are told apart ("base is counter by lock"): beside its sum the metric has a sum for each value that the counter lock
// had when something was added. A constraint that is a key lets one of these values be chosen: one probe serves all objects.

// checkKey refuses keys that are no numbers.
func (c *constraint) checkKey() error {
	if !c.key {
		return nil
	}
	if c.hierarchy == grid.IO && len(c.path) > 0 {
		return errorAt(c.pos, "constraint %s: found a key for %s, expected a flag there, which is set if ($arg[0] == $constraint[0]), as in oneFile: a key is a number that stays, and a descriptor stands for one file now and for another later",
			c.ident, c.pathString())
	}
	if t := constraintTypes(c)[0]; t != tInt {
		return errorAt(c.pos, "constraint %s: found a key for %s, which is %v, expected it for single objects, such as /SyncObject/Mutex: their addresses are numbers",
			c.ident, c.pathString(), t)
	}
	return nil
}

// tellApart checks that keys and what is told apart by them belong together.
func (m *metric) tellApart() error {
	for _, c := range m.constraints {
		if c.key && m.base.by == "" {
			return errorAt(m.base.pos, "metric %s: found the key %s and a base without a key, expected \"base is %s by\" a counter that holds the address",
				m.ident, c.ident, kindText(m.base.kind, m.base.distribution))
		}
	}
	at := m.base.pos
	switch {
	case m.base.by == "":
		return nil
	case !slices.Contains(m.counters, m.base.by):
		return errorAt(at, "metric %s: found \"by %s\", expected a counter of the metric", m.ident, m.base.by)
	case m.base.distribution || m.base.kind != Counter && m.base.kind != WallTimer && m.base.kind != ProcessTimer:
		return errorAt(at, "metric %s: found a base of kind %s with a key, expected a counter, a wallTimer or a processTimer", m.ident, kindText(m.base.kind, m.base.distribution))
	case m.Style != grid.EventCounter || m.Aggregate != grid.Sum:
		return errorAt(at, "metric %s: its base is keyed by %s; found style %s and aggregateOperator %s, expected EventCounter and sum", m.ident, m.base.by, m.Style, m.Aggregate)
	}
	return nil
}

// chooseKey fills in by which variable the plan tells apart, and which of its values the focus chooses.
func (c *compiler) chooseKey(x *matching, counters map[string]int) (err error) {
	if by := x.body(c.m).by; by != "" {
		c.plan.By = counters[by]
	}
	if x.key != nil {
		c.plan.Keyed = true
		c.plan.Key, err = c.env.Object(x.key.hierarchy, c.focus.Elements(x.key.hierarchy))
	}
	return err
}

// KeyedBy is the focus at which one probe serves what a focus chooses by a key, together with all other values of the key; ok is
// false where the metric does not tell it apart.
func (l *Library) KeyedBy(metric string, focus grid.Focus) (all grid.Focus, h grid.Hierarchy, ok bool) {
	m, err := l.find(metric)
	if err != nil {
		return all, 0, false
	}
	x, err := l.match(m, focus)
	if err != nil || x.key == nil {
		return all, 0, false
	}
	h = x.key.hierarchy
	for all = focus; len(all.Elements(h)) > 0; {
		up, ok := all.Parent(h)
		if !ok {
			return all, h, false
		}
		all = up
	}
	return all, h, true
}

// Restricted reports whether code or threads are chosen beside a key.
func (p *Plan) Restricted() bool {
	f := p.Pair.Focus
	return len(f.Elements(grid.Code))+len(f.Elements(grid.Process)) > 0 || f.Depth(grid.Defined) > 0
}
