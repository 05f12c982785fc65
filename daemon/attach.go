package daemon

import (
	"time"

	"culprit/daemon/attach"
	"culprit/daemon/notes"
	"culprit/daemon/process"
	"culprit/daemon/syscalls"
	"culprit/grid"
	"culprit/pcl"
)

// attachProbed opens a process, maps the segment into it and learns its threads.
func (d *Daemon) attachProbed(pid int) error {
	if err := attach.Owned(pid); err != nil {
		return err
	}
	t, err := openTarget(d, pid, func(pid int) (*process.Process, error) { return process.OpenFor(pid, d.guard) })
	if err != nil {
		return err
	}
	d.sight.Begin(d.logf)
	d.sight.Show(syscalls.Watcher{
		Deadlines: func(l *syscalls.Deadlines) { t.Proc.KnowDeadlines(l) },
		Transfers: func(l *syscalls.Transfers) { t.Proc.KnowTransfers(l) },
	}, d.goLoop)
	if err := t.MapSegment(); err != nil {
		t.close()
		return err
	}
	t.sampleGo()
	if t.Contexts.Suspected() { // else before the first point is planned, when tables have been read
		t.Contexts.LookFirst()
	}
	d.admit(t)
	return nil
}

// discover looks for code that the targets have mapped since, and for programs that they became.
func (d *Daemon) discover() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.schedule.BeginSearch()
	for _, t := range d.targets {
		turn := d.schedule.Searches(t.seat, len(d.targets), d.allowance.Busy())
		if !d.lives(t) || !t.mayHaveLoaded() && !turn {
			continue
		}
		t.readTimes()
		if more, err := t.refreshCode(); err == nil && more {
			d.logf("%s has loaded more code", t.Name)
			d.catalogue.List(t.Objects())
			if t.Seg != nil {
				t.sampleGo()
			}
			t.FindRank()
			if t.child {
				_ = d.extend(t) // what cannot be measured there was said when it was joined
			}
		}
		if err := t.Contexts.LookAtHandlers(); err != nil {
			d.logf("%s: where its signal handlers lead cannot be told: %v", t.Name, err)
		}
		if err := t.repair(); err != nil {
			d.logf("%s: patching what was loaded again: %v", t.Name, err)
		}
	}
	d.completeTargets(time.Now())
	d.findFilesInTurn()
}

// notCovered says why a focus selects nothing.
func (d *Daemon) notCovered(f grid.Focus) error {
	if len(f.Elements(grid.Process)) > 0 {
		return d.session.NoProcess(f)
	}
	return process.ErrTargetExited
}

// noteRefusal keeps why a function is not instrumented, for the report, and that its metric misses what it does there, if it is one of a library's list
// that the program uses.
func (d *Daemon) noteRefusal(p *part, r *pcl.Request, err error) {
	name, f := p.t.FuncName(r.Func), p.t.Func(r.Func)
	if len(d.refused) < 1000 {
		used := f == nil || !r.Listed || p.t.IsUsed(f) || d.refused[name].used
		d.refused[name] = refusal{err.Error(), used}
	}
	switch {
	case f == nil:
	case r.Listed && p.t.IsUsed(f):
		d.missed[p.plan.Pair.Metric] = name
	case !r.Listed && !r.Follows:
		p.leaveOut(notes.LeftOut(name, err))
	}
}

// Source tells where the function of a focus is written. line is 0 if that is not known.
func (d *Daemon) Source(f grid.Focus) (file string, line int) {
	e := f.Elements(grid.Code)
	if len(e) < 2 {
		return "", 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		for _, id := range t.Function(e[0], e[1]) {
			fn := t.Func(id)
			if file, line, ok := fn.Obj.Line(fn.Fn.Addr); ok {
				return file, line
			}
		}
	}
	return "", 0
}
