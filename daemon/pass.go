package daemon

import (
	"sync/atomic"
	"time"

	"culprit/daemon/cost"
	"culprit/daemon/kernel"
	"culprit/daemon/measuring"
	"culprit/daemon/selfcost"
	"culprit/grid"
)

// The passes read the values of all pairs, and keep account of what that takes. mu of the state guards the fields.
type passes struct {
	*state
	members  *members
	looks    *looks
	times    *times
	observed cost.Observed
	costs    cost.Pairs
	inserted chan struct{}               // says that something was
	passing  kernel.Passing              // marked at each pass, where values of single threads are measured
	behind   map[*measuring.Process]bool // that the last pass has left out
	interval selfcost.Interval           // of the sampling loop, which alone uses it
	hurry    atomic.Bool                 // some parts that are switched off are not to wait
}

// tick samples every pair of every target once.
func (ps *passes) tick() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.pass(ps.Now())
}

// pass is a tick at session time now. mu is held, since before now was taken: what the kernel keeps is counted from one
// pass to the next. A target that somebody works on is left out; what it has done meanwhile comes with the next pass.
func (ps *passes) pass(now float64) {
	ps.looks.readSamples() // they are of the time up to now
	h := ps.holdFree()
	defer h.release()
	ps.passOf(h, now)
}

// passHolding is pass where all targets are locked. mu is held.
func (ps *passes) passHolding(h hold, now float64) {
	ps.looks.readSamples()
	ps.passOf(h, now)
}

// passOf is a pass over the targets of a hold. mu is held.
func (ps *passes) passOf(h hold, now float64) {
	ps.schedule.BeginPass()
	for t := range h {
		t.TakeDelayed()
		if ps.members.lives(t) {
			t.RefreshThreads(now)
			t.Stats.Link()
			t.Account(now)
		}
	}
	ps.common.Clocks.CountSwitches()
	ps.watchForbidden(h)
	ps.watchFilters(h)
	ps.followFiles(h, now)
	ps.samplePairs(h, now, ps.pairs)
	ps.findTaken(h)
	for t := range h {
		t.Stats.Tidy()
		t.Stats.FollowWaits()
	}
	ps.common.Programs.UpdateAccounts(time.Now())
	ps.looks.wakers.Update(now, ps.livePIDs())
}

// samplePairs reads the parts of pairs in the targets of a hold, and hands to the sinks what pairs have grown by that are read in all of theirs. mu is held.
func (ps *passes) samplePairs(h hold, now float64, pairs map[grid.PairKey]*pair) {
	ofThreads := hasThreads(pairs)
	calm := !ofThreads || !ps.passing.Any()
	for t := range h {
		t.ReadBlocks(now, calm && !ps.behind[t])
	}
	var cpus float64
	var keyed []*pair
	for _, p := range pairs {
		switch {
		case now <= p.last:
		case p.keyed != nil:
			keyed = append(keyed, p)
		default:
			cpus += p.sample(ps.session, h, now)
		}
	}
	for _, p := range keyed { // when those that serve them were read
		p.sampleKeyed(ps.session, h, now)
	}
	if len(pairs) == len(ps.pairs) {
		ps.endPass(h, now, cpus, ofThreads)
	}
}

// endPass is what follows when all pairs were read, whose probes took so many CPUs.
func (ps *passes) endPass(h hold, now, cpus float64, ofThreads bool) {
	ps.accountCost(now, cpus+ps.samplingCost(h, now))
	ps.tellCosts()
	for t := range h {
		t.Threads.ForgetLeft()
	}
	if ofThreads {
		ps.passing.Mark()
	}
	ps.noteBehind(h)
	ps.times.settleEnded(h, now)
	ps.times.noteTimes()
}

// noteBehind notes which targets a pass has left out: what it has seen of threads that came and went does not count for them.
func (ps *passes) noteBehind(h hold) {
	ps.behind = map[*measuring.Process]bool{}
	for _, t := range ps.targets {
		if !h[t] {
			ps.behind[t] = true
		}
	}
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

// findTaken makes resources of the locks in the tables of all pairs. mu is held.
func (ps *passes) findTaken(h hold) {
	for _, p := range ps.pairs {
		for _, pt := range p.parts {
			if pt.Probes != nil && h[pt.Process] && !pt.Process.Ended() {
				pt.Probes.FindTaken()
			}
		}
	}
}

// followFiles keeps up with what the descriptors stand for that pairs are at, in the targets of a hold. mu is held.
func (ps *passes) followFiles(h hold, now float64) {
	for t := range h {
		if !t.Ended() && t.Files.Due(now, 0) && followFilesOf(t, ps.pairs) {
			t.Files.Look(now)
		}
	}
}
