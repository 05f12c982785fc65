package measuring

import (
	"maps"
	"slices"

	"culprit/daemon/batch"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/notes"
	"culprit/daemon/patch"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
)

// What a batch asks of a part and of a target.

// Apply implements batch.Target.
func (t *Process) Apply(sites []*patch.Site, begin []batch.Part) (busy map[*patch.Site]error, err error) {
	fresh := make([]*probe.Meter, len(begin))
	for i, p := range begin {
		part := p.(*Part)
		fresh[i] = part.Probes
		t.running[part] = true
	}
	return t.Text.Apply(sites, placement.Begin(t.Target, t.Blocks, fresh))
}

// Running are the parts whose code may run: it has been put in, and is not out yet.
func (t *Process) Running() []*Part { return slices.Collect(maps.Keys(t.running)) }

// MakeRoom frees the thread blocks of threads that have ended where they may soon be too few.
func (t *Process) MakeRoom() { t.Target.MakeRoom(t.silence) }

// silence clears what a dead thread has left switched on in its block.
func (t *Process) silence(slot int) {
	for p := range t.running {
		if p.Probes != nil {
			p.Probes.Silence(slot)
		}
	}
}

// Repair patches again what the target has loaded again.
func (t *Process) Repair() error {
	sites := t.Text.Fallen()
	if len(sites) == 0 {
		return nil
	}
	_, err := t.Apply(sites, nil)
	return err
}

// In implements batch.Part.
func (p *Part) In() batch.Target { return p.Process }

// Sites implements batch.Part.
func (p *Part) Sites() []*patch.Site { return p.Code.Sites }

// Forget implements batch.Part.
func (p *Part) Forget(out func(*patch.Site) bool) { p.Code.Forget(out) }

// IsScarce implements batch.Part: a process has few distributions and tables.
func (p *Part) IsScarce() bool { return p.Probes != nil && p.Probes.IsScarce() }

// SwitchOff implements batch.Part. The part reads nothing any more.
func (p *Part) SwitchOff() {
	p.JumpOver()
	p.Gone = true
	p.doesNotNeedRows()
}

// JumpOver turns the part's mini-trampolines off by a store each. What they have counted can still be read.
func (p *Part) JumpOver() {
	p.On = false
	p.Code.SwitchOff(func(o patch.Owner) bool { return o.(*Part).On })
}

// Release implements batch.Part.
func (p *Part) Release() {
	delete(p.Process.running, p)
	p.doesNotNeedRows()
	p.Meter.Close()
}

// noteRefusal keeps why a function is not instrumented, for the report, and that its metric misses what it does there, if it is one of a library's list
// that the program uses.
func (p *Part) noteRefusal(r *pcl.Request, err error) {
	name, f, all := p.Process.FuncName(r.Func), p.Process.Func(r.Func), &p.Process.Common.Refusals
	all.note(name, err, f == nil || !r.Listed || p.Process.IsUsed(f))
	switch {
	case f == nil:
	case r.Listed && p.Process.IsUsed(f):
		all.miss(p.Plan.Pair.Metric, name)
	case !r.Listed && !r.Follows:
		p.leaveOut(notes.LeftOut(name, err))
	}
}

// AddTo puts the code of a part at its sites and adds it to a batch. On an error nothing of it is left.
func (p *Part) AddTo(b *batch.Batch, g *batch.Group) error {
	if err := p.Place(p.Process.Sites.Prepare); err != nil {
		b.Withdraw(p)
		return err
	}
	b.Add(g, p)
	return nil
}

// Check refuses what this target cannot take.
func (p *Part) Check() error {
	if err := p.kept(); err != nil {
		return err
	}
	if p.Meter.Tier() != grid.TierProbe {
		return nil
	}
	return p.Probes.CheckSyscalls()
}

// Place puts the code of a part at its sites, where allowed does not refuse it.
func (p *Part) Place(allowed func(*pcl.Request) error) error {
	if p.Meter.Tier() != grid.TierProbe {
		return nil
	}
	return p.Code.Place(allowed, func(r *pcl.Request, err error) { p.noteRefusal(r, err) })
}

// leaveOut notes a function that the part's value does not tell of.
func (p *Part) leaveOut(line string) {
	if len(p.LeftOut) < notes.MaxFunctions && !slices.Contains(p.LeftOut, line) {
		p.LeftOut = append(p.LeftOut, line)
	}
}

// kept refuses what the kernel does not keep, or not here.
func (p *Part) kept() error {
	if m, ok := p.Meter.(*kernelmeter.Meter); ok {
		return m.Prepare()
	}
	if !p.ReadsStatistics() {
		return nil
	}
	if p.Plan.Kind == pcl.Kernel {
		if _, err := kernelmeter.Statistic(p.Plan); err != nil {
			return err
		}
	}
	return p.needRows()
}

// needRows has the kernel keep what the part's probes read, until doesNotNeedRows.
func (p *Part) needRows() (err error) {
	q := probe.Quantity(p.Plan)
	p.needs, err = p.Process.Common.Programs.Need(q, q == threadstats.OffCPU)
	if err != nil {
		return targetstats.Refused(p.Plan, err)
	}
	return nil
}

// doesNotNeedRows ends needRows, if there was one.
func (p *Part) doesNotNeedRows() {
	if p.needs != nil {
		p.needs()
		p.needs = nil
	}
}
