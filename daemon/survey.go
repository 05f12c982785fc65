package daemon

import (
	"errors"

	"culprit/daemon/survey"
	"culprit/pcl"
)

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
