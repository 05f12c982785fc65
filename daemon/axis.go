package daemon

import (
	"culprit/daemon/resources"
	"culprit/daemon/sampling"
	"culprit/grid"
)

// What there is below a focus, and how much of what was seen supports it.

// Refinements implements grid.Axis.
func (d *Daemon) Refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h == grid.IO {
		d.findFiles(freshFor)
	}
	ts := resources.Targets{Session: d.session}
	for _, t := range d.targets {
		ts.All = append(ts.All, resources.Target{Target: t.Target, Samples: t.profile, Ended: t.ended})
	}
	return ts.Below(f, h)
}

// Weight implements grid.Axis.
func (d *Daemon) Weight(f grid.Focus, kind string) float64 {
	k, ok := sampling.KindOf(kind)
	if !ok {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var hits, total float64
	part := sampling.PartOf(f, d.session.ItemOf(f))
	for _, t := range d.targets {
		h, n := t.profile.Weight(part, k)
		total += n
		if t.Covers(f) {
			hits += h
		}
	}
	if total < 5 {
		return 0
	}
	return hits / total
}

// ListCode has all modules and functions of the targets listed in the tree, those of code that is loaded later too. It does not wait.
func (d *Daemon) ListCode() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.catalogue.Want()
	for _, t := range d.targets {
		d.catalogue.List(t.Objects())
	}
}

// Known lists all modules and functions of the targets, and waits until they are in the tree.
func (d *Daemon) Known() {
	d.ListCode()
	d.catalogue.Wait()
}
