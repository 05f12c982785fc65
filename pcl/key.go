package pcl

import "culprit/grid"

// Bases with a key ("base is counter by lock") have, beside their sum, a sum for each value that the counter lock had when something
// was added. A constraint that is a key selects one of these values: one probe serves all objects.

// KeyedBy is the focus at which one probe serves what a focus chooses by a key, together with all other values of the key; ok is
// false where the metric does not tell it apart.
func (l *Library) KeyedBy(metric string, focus grid.Focus) (all grid.Focus, h grid.Hierarchy, ok bool) {
	m, err := l.Find(metric)
	if err != nil {
		return all, 0, false
	}
	x, err := l.Match(m, focus)
	if err != nil || x.Key == nil {
		return all, 0, false
	}
	h = x.Key.Hierarchy
	for all = focus; len(all.Elements(h)) > 0; {
		up, ok := all.Parent(h)
		if !ok {
			return all, h, false
		}
		all = up
	}
	return all, h, true
}
