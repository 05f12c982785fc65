package daemon

import (
	"errors"

	"culprit/daemon/batch"
	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/process"
	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/pcl"
)

// analyse decodes the functions of a large batch on all processors, before the batch takes the lock.
func (d *Daemon) analyse(keys []grid.PairKey) {
	const large = 64
	if len(keys) < large {
		return
	}
	var fns []*plans.Function
	d.mu.Lock()
	for _, k := range keys {
		for _, t := range d.targets {
			for id := range t.FocusFunctions(k.Focus) {
				fns = append(fns, t.Plans.Of(t.Func(id)))
			}
		}
	}
	d.mu.Unlock()
	plans.MakeAll(fns)
}

// typed turns errors of the rooms below into those of the grid, so that whoever searches can tell them apart.
func (d *Daemon) typed(err error) error {
	var refused *process.Refused
	var busy *patch.BusyError
	var deferred *process.Deferred
	var long *stops.TooLong
	switch {
	case errors.As(err, &refused):
		return grid.ErrRefused{Point: refused.Point, Reason: refused.Reason}
	case errors.As(err, &busy), errors.As(err, &deferred), errors.As(err, &long):
		return grid.ErrDeferred{Reason: err.Error()}
	case (errors.Is(err, process.ErrTargetExited) || errors.Is(err, process.ErrTargetExeced)) && d.watcher.Awaits():
		return grid.ErrDeferred{Reason: "the target executes another program, which is measured as soon as it has begun"}
	case errors.Is(err, process.ErrTargetExited), errors.Is(err, process.ErrTargetExeced):
		return grid.ErrTargetExited{PID: d.goneTarget()}
	}
	return err
}

// goneTarget is the first target that has ended or become another program, 0 if none has. d.mu is held.
func (d *Daemon) goneTarget() int {
	for _, t := range d.targets {
		if t.ended || t.Proc.Gone() {
			return t.Proc.PID()
		}
	}
	return 0
}

// addPart compiles a pair for a target and adds it to a batch. On an error nothing of it is left.
func (d *Daemon) addPart(b *batch.Batch, g *batch.Group, t *measured, key grid.PairKey) (*part, error) {
	d.owner++
	p, err := newPart(t, key, d.owner)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		p.Release()
		return nil, err
	}
	if err := p.addTo(b, g); err != nil {
		return nil, err
	}
	return p, nil
}

// addTo puts the code of a part at its sites and adds it to a batch. On an error nothing of it is left.
func (p *part) addTo(b *batch.Batch, g *batch.Group) error {
	if err := p.place(p.t.Sites.Prepare); err != nil {
		b.Withdraw(p)
		return err
	}
	b.Add(g, p)
	return nil
}

// check refuses what this target cannot take.
func (p *part) check() error {
	if err := p.kept(); err != nil {
		return err
	}
	if p.meter.Tier() != grid.TierProbe {
		return nil
	}
	return p.probes.CheckSyscalls()
}

// place puts the code of a part at its sites, where allowed does not refuse it.
func (p *part) place(allowed func(*pcl.Request) error) error {
	if p.meter.Tier() != grid.TierProbe {
		return nil
	}
	return p.code.Place(allowed, func(r *pcl.Request, err error) { p.t.d.noteRefusal(p, r, err) })
}
