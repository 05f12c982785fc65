package daemon

import (
	"time"

	"culprit/daemon/probe"
	"culprit/grid"
)

// readBlocks reads the thread blocks of the target for a pass. calm says that no thread has begun and ended since the last one.
func (t *measured) readBlocks(now float64, calm bool) {
	t.blocks.Read(now, probe.State{Calm: calm, Ended: t.ended, Settled: t.settled})
}

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
		}
	}
	d.countSwitches()
	d.watchFilters()
	d.followFiles(now)
	d.samplePairs(now, d.pairs)
	d.findTaken()
	for _, t := range d.targets {
		t.Stats.Tidy()
		t.Stats.FollowWaits()
	}
	d.programs.UpdateAccounts(time.Now())
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
		interval := now - p.last
		if interval <= 0 {
			continue
		}
		if p.keyed != nil {
			keyed = append(keyed, p)
			continue
		}
		if p.holds() {
			cpus += d.sampleGauge(p, interval)
			p.last = now
			continue
		}
		var values []float64
		for _, pt := range p.parts {
			values = append(values, pt.meter.Grown(interval))
			cpus += pt.price(interval)
		}
		if m, _ := d.session.Library.Metric(p.key.Metric); p.totals(m) {
			d.handTotals(p, m, values, now)
		} else {
			d.hand(p, values, now)
		}
		d.distribute(p, now)
		p.last = now
	}
	for _, p := range keyed { // when those that serve them were read
		values := p.keyed.values()
		for _, pt := range p.parts {
			values = append(values, pt.meter.Grown(now-p.last))
		}
		d.hand(p, values, now)
		p.last = now
	}
	if len(pairs) == len(d.pairs) {
		d.accountCost(now, cpus+d.samplingCost(now))
		for _, t := range d.targets {
			t.Threads.ForgetLeft()
		}
		if ofThreads {
			d.passing.Mark()
		}
		d.settleEnded()
		d.noteOwnTimes()
	}
}

// hand gives the value of a pair since p.last to its sink. Pairs that serve others have none.
func (d *Daemon) hand(p *pair, values []float64, now float64) {
	if v, ok := d.combine(p, values); ok && p.sink != nil {
		p.sink.Sample(p.key, p.last, now, v)
	}
}

// combine adds up the values of several processes as the metric says.
func (d *Daemon) combine(p *pair, values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	m, ok := d.session.Library.Metric(p.key.Metric)
	if !ok {
		return 0, false
	}
	return m.Combine(values), true
}
