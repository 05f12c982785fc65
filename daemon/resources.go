package daemon

import (
	"errors"

	"culprit/daemon/process"
	"culprit/daemon/resources"
	"culprit/daemon/sampling"
	"culprit/daemon/survey"
	"culprit/grid"
	"culprit/pcl"
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

// ListLoops makes the loops of a function resources below it and returns their names, outer ones first.
func (d *Daemon) ListLoops(module, name string) (names []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		for _, id := range t.Function(module, name) {
			f := t.Func(id)
			for _, l := range f.Loops() {
				names = append(names, l.Name)
				d.session.Tree.Add(grid.Code, module, name, l.Name)
			}
			if f.WhyNoLoops() != "" {
				err = &process.Refused{Point: f.Fn.Name, Reason: f.WhyNoLoops()}
			}
		}
	}
	if len(names) == 0 {
		return nil, err
	}
	return names, nil
}

// What can be measured of the targets, and what they have.

// Survey says of every metric of the library what it can be in the targets. It takes the first target that has something to say.
func (d *Daemon) Survey() (list []survey.Metric) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.session.Library.Metrics() {
		s := survey.Metric{Metric: m}
		for _, t := range d.targets {
			if !t.ended && !s.Code {
				s = survey.Of(t.Target, m, t.tells())
			}
		}
		list = append(list, s)
	}
	return list
}

// tells says why stack samples do not tell a plan; it is nil where none are taken for that.
func (t *measured) tells() func(*pcl.Plan) error {
	if t.sampled == nil {
		return nil
	}
	return t.sampled.Tells
}

// ListOpen makes everything that the targets have open now a resource: files, sockets, pipes. Otherwise they become known when
// somebody waits for them.
func (d *Daemon) ListOpen() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, t := range d.targets {
		if t.ended {
			continue
		}
		if _, err := t.Proc.Descriptors(); err != nil {
			errs = append(errs, err)
			continue
		}
		t.Files.Look(d.Now())
	}
	return errors.Join(errs...)
}
