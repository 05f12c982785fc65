package daemon

import (
	"culprit/daemon/process"
	"culprit/grid"
)

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
