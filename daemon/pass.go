package daemon

import (
	"time"

	"culprit/daemon/probe"
	"culprit/grid"
)

// tick samples every pair of every target once.
func (d *Daemon) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass(d.Now())
}

// pass is a tick at session time now. d.mu is held, since before now was taken: what the kernel keeps is counted from one
// pass to the next.
func (d *Daemon) pass(now float64) {
	d.schedule.BeginPass()
	d.readSamples() // they are of the time up to now
	for _, t := range d.targets {
		if d.lives(t) {
			t.Threads.Refresh(now, t.Stops.Count())
			t.Threads.ShareLooks()
			t.Stats.Link()
			if t.sampled != nil {
				t.sampled.Account(now)
			}
			if t.waiting != nil {
				t.waiting.Account(now)
			}
		}
	}
	d.clocks.CountSwitches()
	d.watchFilters()
	d.followFiles(now)
	d.samplePairs(now, d.pairs)
	d.findTaken()
	for _, t := range d.targets {
		t.Stats.Tidy()
		t.Stats.FollowWaits()
	}
	d.programs.UpdateAccounts(time.Now())
	d.wakers.Update(now, d.livePIDs())
}

// samplePairs reads the pairs and hands their growth to the sinks.
func (d *Daemon) samplePairs(now float64, pairs map[grid.PairKey]*pair) {
	ofThreads := hasThreads(pairs)
	calm := !ofThreads || !d.passing.Any()
	for _, t := range d.targets {
		t.readBlocks(now, calm)
	}
	var cpus float64
	var keyed []*pair
	for _, p := range pairs {
		switch {
		case now <= p.last:
		case p.keyed != nil:
			keyed = append(keyed, p)
		default:
			cpus += p.sample(d.session, now)
		}
	}
	for _, p := range keyed { // when those that serve them were read
		p.sampleKeyed(d.session, now)
	}
	if len(pairs) == len(d.pairs) {
		d.endPass(now, cpus, ofThreads)
	}
}

// endPass is what follows when all pairs were read, whose probes took so many CPUs.
func (d *Daemon) endPass(now, cpus float64, ofThreads bool) {
	d.accountCost(now, cpus+d.samplingCost(now))
	for _, t := range d.targets {
		t.Threads.ForgetLeft()
	}
	if ofThreads {
		d.passing.Mark()
	}
	d.settleEnded()
	d.noteTimes()
}

// hasThreads reports whether a pair is of a single thread.
func hasThreads(pairs map[grid.PairKey]*pair) bool {
	for key := range pairs {
		if key.Focus.Depth(grid.Process) > 1 {
			return true
		}
	}
	return false
}

// readBlocks reads the thread blocks of the target for a pass. calm says that no thread has begun and ended since the last one.
func (t *measured) readBlocks(now float64, calm bool) {
	t.blocks.Read(now, probe.State{Calm: calm, Ended: t.ended, Settled: t.settled})
}

// findTaken makes resources of the locks in the tables of all pairs. d.mu is held.
func (d *Daemon) findTaken() {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.probes != nil && !pt.t.ended {
				pt.probes.FindTaken()
			}
		}
	}
}
