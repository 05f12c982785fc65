package daemon

import (
	"errors"

	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/process"
	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/pcl"
)

// Enable implements grid.Instrumenter.
func (d *Daemon) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.analyse(keys)
	d.mu.Lock()
	defer d.mu.Unlock()
	results := make([]grid.EnableResult, len(keys))
	batch := d.newBatch()
	for i, key := range keys {
		results[i] = grid.EnableResult{Key: key}
		p, err := batch.add(key, sink)
		if err != nil {
			results[i].Err = d.typed(err)
			continue
		}
		batch.made[key] = p
	}
	batch.run()
	d.tellFiles(batch.made) // after probes see what is closed
	now := d.Now()
	d.settleRows(now, batch.made)
	read := map[*measured]bool{}
	d.beginKeyed(batch, now, read)
	for i, key := range keys {
		if results[i].Err != nil {
			continue
		}
		p := batch.made[key]
		if err := batch.failure(p); err != nil {
			results[i].Err = d.typed(err)
			continue
		}
		p.since, p.last = now, now
		d.pairs[key] = p
		d.start(p, read)
		results[i].Tier, results[i].Since = p.tier, now
	}
	return results
}

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
			for id := range t.focusFunctions(k.Focus) {
				fns = append(fns, t.Plans.Of(t.Func(id)))
			}
		}
	}
	d.mu.Unlock()
	plans.MakeAll(fns)
}

// start takes the readings from which a new pair grows. Of the targets in read the thread blocks were read already.
func (d *Daemon) start(p *pair, read map[*measured]bool) {
	for _, pt := range p.parts {
		pt.on = true
		if !read[pt.t] {
			pt.t.readBlocks(d.Now(), true)
			read[pt.t] = true
		}
		pt.begin()
	}
	if p.holds() {
		p.axis.Begin(d.session, p.gauges())
	}
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

// A batch is a set of pairs that are inserted, and of old ones that are removed, in one stop of each target.
type batch struct {
	d      *Daemon
	made   map[grid.PairKey]*pair
	failed map[grid.PairKey]error
	sites  map[*measured]map[*patch.Site]bool
	fresh  map[*measured][]*part
	busy   map[*measured]map[*patch.Site]error // sites that could not be changed
	errs   map[*measured]error                 // why nothing could be changed there
}

func (d *Daemon) newBatch() *batch {
	b := &batch{d: d, made: map[grid.PairKey]*pair{}, failed: map[grid.PairKey]error{}, sites: map[*measured]map[*patch.Site]bool{}, fresh: map[*measured][]*part{},
		busy: map[*measured]map[*patch.Site]error{}, errs: map[*measured]error{}}
	b.takeOut(func(*part) bool { return false })
	return b
}

func (b *batch) touch(p *part) {
	if b.sites[p.t] == nil {
		b.sites[p.t] = map[*patch.Site]bool{}
	}
	for _, s := range p.sites {
		b.sites[p.t][s] = true
	}
}

// add compiles a pair for every target that its focus covers and puts its code at the sites; nothing is patched yet.
func (b *batch) add(key grid.PairKey, sink grid.Sink) (*pair, error) {
	if all, h, ok := b.d.serving(key); ok && b.d.probed(key.Focus) {
		return b.addKeyed(key, all, h, sink)
	}
	return b.addPlain(key, sink)
}

// failure is why a pair cannot be measured, or the one that serves it.
func (b *batch) failure(p *pair) error {
	if err := b.failed[p.key]; err != nil || p.keyed == nil {
		return err
	}
	return b.failed[p.keyed.of.key]
}

func (b *batch) addPlain(key grid.PairKey, sink grid.Sink) (*pair, error) {
	p := &pair{key: key, sink: sink, tier: grid.TierKernel}
	_, serves := plainKey(key)
	covered := false
	var errs []error // a function of one program need not be in another
	for _, t := range b.d.targets {
		if t.ended || !t.Covers(key.Focus) || serves && t.onlyLooked() {
			continue
		}
		covered = true
		if err := t.CheckThread(key.Focus); err != nil {
			errs = append(errs, err)
			continue
		}
		part, err := b.part(t, key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.parts = append(p.parts, part)
		p.tier = coarser(p.tier, part.meter.Tier())
	}
	switch {
	case !covered:
		return nil, b.d.notCovered(key.Focus)
	case len(p.parts) == 0:
		return nil, errs[0]
	}
	return p, nil
}

func (b *batch) part(t *measured, key grid.PairKey) (*part, error) {
	b.d.owner++
	p, err := newPart(t, key, b.d.owner)
	if err != nil {
		return nil, err
	}
	if err := b.check(p); err != nil {
		p.release()
		return nil, err
	}
	if err := b.place(p); err != nil {
		b.takeBack(p)
		return nil, err
	}
	if len(p.sites) > 0 {
		b.touch(p)
		b.fresh[t] = append(b.fresh[t], p)
	}
	return p, nil
}

// check refuses what this target cannot take.
func (b *batch) check(p *part) error {
	if err := p.kept(); err != nil {
		return err
	}
	if p.meter.Tier() != grid.TierProbe {
		return nil
	}
	return p.probes.CheckSyscalls()
}

// place puts the code of every request at its points. Of several functions those that cannot be instrumented are left out
// and listed, as long as the constrained function itself is not among them and some are left of each variable's.
func (b *batch) place(p *part) error { return b.placeIf(p, p.t.Sites.Prepare) }

// placeIf is place where allowed refuses what takes no probes.
func (b *batch) placeIf(p *part, allowed func(*pcl.Request) error) error {
	if p.meter.Tier() != grid.TierProbe {
		return nil
	}
	bad := map[pcl.FuncID]error{}
	focus := p.t.focusFunctions(p.plan.Pair.Focus)
	p.t.Sites.Plan(p.plan.Requests)
	for i := range p.plan.Requests {
		r := &p.plan.Requests[i]
		if err := allowed(r); err != nil {
			bad[r.Func] = err
		}
	}
	for i := range p.plan.Requests {
		r := &p.plan.Requests[i]
		if err := bad[r.Func]; err != nil {
			if focus[r.Func] {
				return err
			}
			b.d.noteRefusal(p, r, err)
			continue
		}
		sites, err := p.request(r)
		if err != nil {
			return err
		}
		p.sites = append(p.sites, sites...)
	}
	return p.unplaced(bad)
}

// takeBack removes a part that was not patched in.
func (b *batch) takeBack(p *part) {
	for _, s := range p.sites {
		s.Drop(p)
	}
	p.release()
	list := b.fresh[p.t][:0]
	for _, q := range b.fresh[p.t] {
		if q != p {
			list = append(list, q)
		}
	}
	b.fresh[p.t] = list
}

// run patches. Pairs with a site that stays busy, and all pairs of a target that cannot be stopped, are taken back.
func (b *batch) run() {
	for t, set := range b.sites {
		b.dropOff(t)
		var sites []*patch.Site
		for s := range set {
			sites = append(sites, s)
		}
		busy, err := t.apply(sites, b.fresh[t])
		b.settle(t, busy, err)
	}
}

// settle marks what failed and forgets the parts that went out.
func (b *batch) settle(t *measured, busy map[*patch.Site]error, err error) {
	b.leaveOut(t, err)
	b.busy[t], b.errs[t] = busy, err
	for key, p := range b.made {
		for _, pt := range p.parts {
			if pt.t != t {
				continue
			}
			e := err
			for _, s := range pt.sites {
				if busy[s] != nil {
					e = busy[s]
				}
			}
			if e != nil {
				b.failed[key] = e
			}
		}
	}
	for key := range b.failed {
		b.abandon(b.made[key])
	}
	if err != nil {
		return
	}
	b.forgetOff(t, busy)
}

// leaveOut takes a target that has ended meanwhile out of the pairs that others have parts of: they are measured there.
func (b *batch) leaveOut(t *measured, err error) {
	if !errors.Is(err, process.ErrTargetExited) && !errors.Is(err, process.ErrTargetExeced) {
		return
	}
	for _, p := range b.made {
		if left := len(p.parts); left > 1 && p.partIn(t) {
			p.parts = without(p.parts, t)
		}
	}
}

// missed reports why a part did not get into its target; nil if it did.
func (b *batch) missed(p *part) error {
	if err := b.errs[p.t]; err != nil {
		return err
	}
	for _, s := range p.sites {
		if err := b.busy[p.t][s]; err != nil {
			return err
		}
	}
	return nil
}

// abandon has the parts of a failed pair removed: some of their sites may be patched already.
func (b *batch) abandon(p *pair) {
	for _, pt := range p.parts {
		if !pt.gone {
			b.d.switchOut(pt)
		}
	}
}

// Disable implements grid.Instrumenter: values up to now are given out, then the code is switched off without stopping
// anyone. It is taken out of the text with what takes its place, or by the janitor.
func (d *Daemon) Disable(keys []grid.PairKey) {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	going := map[grid.PairKey]*pair{}
	for _, k := range d.servedTogether(keys) {
		if p := d.pairs[k]; p != nil {
			going[k] = p
			for _, pt := range p.parts {
				pt.on = false
				pt.switchOff()
			}
		}
	}
	now := d.Now()
	d.settleRows(now, going)
	for k, p := range going {
		if p.tier == grid.TierProbe {
			d.samplePairs(now, p.withServing())
		}
		delete(d.pairs, k)
		for _, pt := range p.parts {
			if len(pt.sites) > 0 {
				d.leaves(pt)
			} else {
				pt.release()
			}
		}
	}
}

// switchOff turns the part's mini-trampolines off by a store each.
func (p *part) switchOff() {
	for _, s := range p.sites {
		p.t.Text.SwitchOff(s, p.owner, func(o patch.Owner) bool { return o.(*part).on })
	}
}
