package daemon

import (
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/probe"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// A reading is what one pass over a target's cells needs: the clock, who owns which block, and who is parked.
type reading struct {
	now    float64 // session time
	tsc    uint64
	slots  []int
	owner  map[int]int           // slot -> tid of the live thread that owns it, 0 if dead or unknown
	shares map[int]threads.Share // slot -> whose growth it is
	parked map[int]bool          // tid
	cpu    map[int]uint64
}

func tsc() uint64 { return kernel.TSC() }

// read prepares a pass. calm says that no thread has begun and ended since the last one.
func (t *measured) read(now float64, calm bool) *reading {
	r := &reading{now: now, owner: map[int]int{}, shares: map[int]threads.Share{}, parked: t.Threads.Parked(), cpu: map[int]uint64{}}
	t.reading = r
	if t.Seg == nil {
		return r
	}
	r.slots = t.Seg.Used(nil)
	for _, s := range r.slots {
		if !t.ended { // afterwards there is nobody for whom time goes on
			r.owner[s] = t.Threads.OwnerOf(t.Seg.Load(s, 0))
		}
		r.shares[s] = t.Threads.ShareOf(t.Seg.Load(s, 0), r.owner[s], now, calm, t.ended)
	}
	r.tsc = tsc()
	return r
}

// cpuOf is a thread's processor time in ns, read once a pass.
func (r *reading) cpuOf(t *measured, tid int) uint64 {
	if v, ok := r.cpu[tid]; ok {
		return v
	}
	v := uint64(t.Threads.CPUTime(tid))
	r.cpu[tid] = v
	return v
}

// readCells returns by how much the pair has grown in the thread blocks since the last pass, in the metric's unit.
func (p *part) readCells(r *reading, interval float64) float64 {
	c, since := p.Cells[0], p.readAt
	p.readAt, r.tsc = p.t.Now(), tsc() // what was priced since the pass began took time
	var sum float64
	for _, slot := range r.slots {
		_, known := p.seen[slot]
		grown := p.growth(r, slot, c, since)
		switch sh := r.shares[slot]; {
		case !p.sure(r, slot):
			p.more += grown
			continue
		case p.plan.Thread != "" && sh.After && known:
			p.less += grown
		}
		sum += grown
	}
	p.readTable(r, since)
	p.price(r, interval)
	return sum
}

// growth is the growth in one thread block since the session time of the last reading.
func (p *part) growth(r *reading, slot int, c probe.Cell, since float64) float64 {
	tid := r.owner[slot]
	last := p.seen[slot]
	if c.Kind == pcl.Counter {
		v := p.t.Seg.Load(slot, c.Off)
		p.seen[slot] = slotValue{value: v, raw: v}
		if !p.covered(r, slot) {
			return 0
		}
		return float64(int64(v - last.value))
	}
	if c.Rows && c.Kind == pcl.ProcessTimer {
		return p.ran(r, slot, c)
	}
	v, raw := p.timer(r, slot, c, tid)
	parked, hidden := p.plan.ExcludeParked && r.parked[tid], 0.0
	if parked {
		hidden = p.seconds(c, v-raw)
		v = max(last.value, raw) // what is in flight while parked is not waiting
	}
	if v < last.value {
		if tid != 0 && raw == last.raw && !p.running(slot, c) {
			return 0 // stopped, but the sum has not grown yet: the next pass sees it
		}
		last.value = v // what was in flight is gone: its activation was left by an exception, or its thread ended
	}
	p.seen[slot] = slotValue{value: v, raw: raw, parked: parked, hidden: hidden}
	if !p.covered(r, slot) {
		return 0
	}
	d := p.seconds(c, v-last.value)
	if parked || last.parked {
		d = min(d, p.t.Now()-since+last.short()) // a wait that ends was parked for the most part; a pass begins long before it reads
	}
	return d
}

// short is how long a wait had lasted when it was last taken for a parked one, if that was not long: it was waiting all the same.
func (v slotValue) short() float64 {
	if v.hidden > threads.ParkAfter {
		return 0
	}
	return v.hidden
}

func (p *part) running(slot int, c probe.Cell) bool {
	return p.t.Seg.Load(slot, c.Off+trampoline.TimerActive) != 0
}

// timer reads a timer cell without stopping its thread: the words are read until two readings agree, with the clock between them.
func (p *part) timer(r *reading, slot int, c probe.Cell, tid int) (value, raw uint64) {
	word := func(off int32) uint64 { return p.t.Seg.Load(slot, c.Off+off) }
	for range 8 {
		active, start, sum := word(trampoline.TimerActive), word(trampoline.TimerStart), word(trampoline.TimerSum)
		now := start
		if active != 0 && tid != 0 {
			now = p.clockOf(r, slot, c, tid)
		}
		value, raw = sum, sum
		if now > start {
			value += now - start
		}
		if word(trampoline.TimerActive) == active && word(trampoline.TimerStart) == start && word(trampoline.TimerSum) == sum {
			break
		}
	}
	return value, raw
}

// clockOf is the time on the clock of a timer that runs; 0 where it cannot be read.
func (p *part) clockOf(r *reading, slot int, c probe.Cell, tid int) uint64 {
	switch c.Kind {
	case pcl.ProcessTimer:
		return r.cpuOf(p.t, tid)
	case pcl.Kernel:
		now, _ := p.t.Stats.Now(slot, probe.Quantity(p.plan))
		return now
	}
	return r.tsc
}

func (p *part) seconds(c probe.Cell, d uint64) float64 {
	switch {
	case c.Kind == pcl.ProcessTimer:
		return float64(d) / 1e9
	case c.Kind == pcl.Kernel && probe.Quantity(p.plan).Nanoseconds():
		return float64(d) / 1e9
	case c.Kind == pcl.Kernel:
		return float64(d)
	}
	return p.t.Clock.Seconds(float64(d))
}

// covers reports whether the focus selects a thread; a pair without thread or process focus covers all, dead ones too.
func covers(t *measured, plan *pcl.Plan, tid int) bool {
	return plan.Thread == "" || tid != 0 && t.Threads.Is(tid, plan.Thread)
}

// price works out what the pair cost since the last pass: executions times calibrated time.
func (p *part) price(r *reading, interval float64) {
	if !p.use.Priced() {
		p.use.Price(&p.t.d.prices, p.plan, p.Rows)
		p.ahead = p.t.d.predict(p)
	}
	each, followed := p.executions(r)
	p.use.Count(each, followed, interval)
}

// executions is how often the probes have run, and those apart that keep up with what descriptors stand for.
func (p *part) executions(r *reading) (each, followed uint64) {
	cell := p.Hits
	if cell < 0 {
		cell = p.Cells[0].Off
	}
	for _, slot := range r.slots {
		each += p.t.Seg.Load(slot, cell)
		if p.Follows != 0 {
			followed += p.t.Seg.Load(slot, p.Follows)
		}
	}
	return each, followed
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
	d.round++
	d.readSamples() // they are of the time up to now
	for _, t := range d.targets {
		if d.lives(t) {
			t.Threads.Refresh(now, t.Stops.Count())
			t.Threads.ShareLooks()
			t.Stats.Link()
			if t.sampled != nil {
				t.sampled.account(now)
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
	readings, ofThreads := map[*measured]*reading{}, hasThreads(pairs)
	calm := !ofThreads || !d.passing.Any()
	for _, t := range d.targets {
		readings[t] = t.read(now, calm)
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
			cpus += d.sampleGauge(p, readings, interval)
			p.last = now
			continue
		}
		var values []float64
		for _, pt := range p.parts {
			values = append(values, pt.meter.Grown(interval))
			cpus += pt.use.CPUs
		}
		if m, _ := d.session.Library.Metric(p.key.Metric); p.totals(m) {
			d.handTotals(p, m, values, now)
		} else {
			d.hand(p, values, now)
		}
		d.distribute(p, readings, now)
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
