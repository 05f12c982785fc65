package daemon

import (
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/process"
)

// sampleLoop reads all cells, five times a second if that takes little. It waits for nobody who works on a target.
func (d *Daemon) sampleLoop() {
	var early <-chan time.Time
	for n := 1; ; {
		select {
		case <-d.stopped:
			return
		case <-d.passes.inserted:
			early = time.After(earlyLook) // what was inserted by then is seen as well
		case <-early:
			d.passes.lookEarly()
		case <-time.After(d.beat(tickInterval)):
			d.passes.tickIfDue()
			if n++; n%5 == 0 {
				d.session.Clock.Refine()
				d.age()
			}
		}
	}
}

// careLoop looks after what is in the targets, and what they are.
func (d *Daemon) careLoop() {
	for n := 1; ; n++ {
		select {
		case <-d.stopped:
			return
		case <-time.After(d.beat(tickInterval)):
		}
		if n%10 == 0 || d.passes.hurry.Swap(false) {
			d.inserter.clean()
		}
		if n%10 == 0 {
			d.discover()
			d.inserter.grow()
			d.inserter.leaveWindows()
		}
	}
}

// age lets old stack samples fade.
func (d *Daemon) age() {
	for _, t := range d.list() {
		t.Profile.Age()
	}
}

// discover looks for code that the targets have mapped since, and for programs that they became.
func (d *Daemon) discover() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	d.schedule.BeginSearch()
	d.mu.Unlock()
	for _, t := range d.targets {
		if d.discoverIn(t) && t.Child {
			_ = d.inserter.extend(t) // what cannot be measured there was said when it was joined
		}
	}
	d.inserter.completeTargets(time.Now())
	d.questions.findFilesInTurn()
}

// discoverIn looks for code that a target has mapped since, if it is its turn, and tells whether there is some. enabling is held.
func (d *Daemon) discoverIn(t *measuring.Process) (more bool) {
	turn := d.hasTurn(t, d.allowance.Busy())
	t.Lock()
	defer t.Unlock()
	if !d.members.runs(t) || !t.MayHaveLoaded() && !turn {
		return false
	}
	d.members.readTimes(t)
	more, err := t.RefreshCode()
	if more = more && err == nil; more {
		d.logf("%s has loaded more code", t.Name)
		d.catalogue.List(t.Objects())
		if t.Seg != nil {
			t.SampleUnprobed()
		}
		t.FindRank()
	}
	t.SampleGenerated()
	if err := t.Contexts.LookAtHandlers(); err != nil && !process.GoesAway(err) { // else it is tried again
		d.logf("%s: where its signal handlers lead cannot be told: %v", t.Name, err)
	}
	if err := t.Repair(); err != nil && !process.GoesAway(err) {
		d.logf("%s: patching what was loaded again: %v", t.Name, err)
	}
	return more
}
