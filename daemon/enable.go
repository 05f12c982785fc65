package daemon

import (
	"slices"
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/children"
	"culprit/daemon/measuring"
	"culprit/daemon/plans"
	"culprit/grid"
)

// An inserter changes what is measured: it puts pairs in and takes them out.
type inserter struct {
	*state
	passes  *passes
	itemsAt uint64 // version of the tree when targets were last looked through for items; enabling guards it
}

// Enable implements grid.Instrumenter.
func (ins *inserter) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	ins.enabling.Lock()
	defer ins.enabling.Unlock()
	ins.analyse(keys)
	in := ins.newInsertion(sink)
	results := in.prepare(keys)
	in.commit()
	in.begin(results)
	ins.passes.noteInserted()
	return results
}

// An insertion is pairs that are enabled together. Its steps are prepare, commit, begin. enabling is held, and a target is locked while something is
// done there: only begin has all of them, and does nothing that takes long.
type insertion struct {
	d      *inserter
	sink   grid.Sink
	batch  *batch.Batch
	made   map[grid.PairKey]*pair // also those that serve others
	groups map[*pair]*batch.Group
}

func (ins *inserter) newInsertion(sink grid.Sink) *insertion {
	return &insertion{d: ins, sink: sink, batch: batch.New(&ins.lingering), made: map[grid.PairKey]*pair{}, groups: map[*pair]*batch.Group{}}
}

// prepare compiles the pairs and puts their code at its sites; nothing is patched yet.
func (in *insertion) prepare(keys []grid.PairKey) []grid.EnableResult {
	results := make([]grid.EnableResult, len(keys))
	for i, key := range keys {
		results[i] = grid.EnableResult{Key: key}
		p, err := in.add(key)
		if err != nil {
			results[i].Err = in.d.typedNow(err)
			continue
		}
		in.made[key] = p
	}
	return results
}

// add compiles a pair for every target that its focus covers.
func (in *insertion) add(key grid.PairKey) (*pair, error) {
	if all, h, ok := in.d.serving(key); ok && in.d.probed(key.Focus) {
		return in.addKeyed(key, all, h)
	}
	return in.addPlain(key, in.sink)
}

// newPair is a pair of the insertion that has no parts yet.
func (in *insertion) newPair(key grid.PairKey, sink grid.Sink, tier grid.Tier) *pair {
	p := &pair{key: key, sink: sink, tier: tier}
	in.groups[p] = in.batch.Group()
	return p
}

// addPart adds a part in a target, which is locked, to a pair of the insertion.
func (in *insertion) addPart(p *pair, t *measuring.Process) error {
	pt, err := in.d.addPart(in.batch, in.groups[p], t, p.key)
	if err != nil {
		return err
	}
	p.parts, p.tier = append(p.parts, pt), coarser(p.tier, pt.Meter.Tier())
	return nil
}

func (in *insertion) addPlain(key grid.PairKey, sink grid.Sink) (*pair, error) {
	p := in.newPair(key, sink, grid.TierKernel)
	_, serves := plainKey(key)
	covered := false
	var errs []error // a function of one program need not be in another
	for _, t := range in.d.targets {
		if t.Ended() || !t.Covers(key.Focus) {
			continue
		}
		switch there, err := in.addIn(p, t, serves); {
		case err != nil:
			covered, errs = true, append(errs, err)
		case there:
			covered = true
		}
	}
	switch {
	case !covered:
		return nil, in.d.notCovered(key.Focus)
	case len(p.parts) == 0:
		return nil, errs[0]
	}
	return p, nil
}

// addIn adds a part in a target to a pair, if such pairs have parts there.
func (in *insertion) addIn(p *pair, t *measuring.Process, serves bool) (there bool, err error) {
	t.Lock()
	defer t.Unlock()
	if serves && t.OnlyLooked() {
		return false, nil
	}
	if err := t.CheckThread(p.key.Focus); err != nil {
		return true, err
	}
	return true, in.addPart(p, t)
}

// commit patches. What is told to the files comes after it: a file that a target closes meanwhile is seen by the probes.
func (in *insertion) commit() {
	in.batch.Commit()
	for p, g := range in.groups {
		p.parts = slices.DeleteFunc(p.parts, func(pt *measuring.Part) bool { return !g.Has(pt) })
	}
	in.d.tellFiles(in.made)
}

// failure is why a pair cannot be measured, or the one that serves it.
func (in *insertion) failure(p *pair) error {
	if err := in.groups[p].Err(); err != nil || p.keyed == nil {
		return err
	}
	if g := in.groups[p.keyed.of]; g != nil { // else it was there before
		return g.Err()
	}
	return nil
}

// begin brings the pairs that are in into operation. The clocks that their probes read are settled first, since a change of them is a new
// beginning. Pairs that serve others come before those, which begin at the totals that the first have then.
func (in *insertion) begin(results []grid.EnableResult) {
	h := in.d.holdAll()
	defer h.release()
	in.d.mu.Lock()
	defer in.d.mu.Unlock()
	now := in.d.Now()
	in.d.settleRows(h, now, in.made)
	read := map[*measuring.Process]bool{}
	in.beginServing(h, now, read)
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			continue
		}
		p := in.made[r.Key]
		if err := in.failure(p); err != nil {
			r.Err = in.d.typed(err)
			continue
		}
		in.d.begin(p, now, read)
		r.Tier, r.Since = p.tier, now
	}
}

// begin has a pair measured from now on. All targets are locked, and mu is held.
func (ins *inserter) begin(p *pair, now float64, read map[*measuring.Process]bool) {
	p.since, p.last = now, now
	ins.pairs[p.key] = p
	ins.start(p, now, read)
}

// start takes the readings from which a new pair grows. Of the targets in read the thread blocks were read already.
func (ins *inserter) start(p *pair, now float64, read map[*measuring.Process]bool) {
	for _, pt := range p.parts {
		if !read[pt.Process] {
			pt.Process.ReadBlocks(ins.Now(), true)
			read[pt.Process] = true
		}
		pt.Begin(now)
	}
	if p.holds() {
		p.axis.Begin(ins.session, p.gauges())
	}
}

// Disable implements grid.Instrumenter: values up to now are given out, then the code is switched off without stopping
// anyone. It is taken out of the text with what takes its place, or by the janitor.
func (ins *inserter) Disable(keys []grid.PairKey) {
	ins.enabling.Lock()
	defer ins.enabling.Unlock()
	h := ins.holdAll()
	defer h.release()
	ins.mu.Lock()
	defer ins.mu.Unlock()
	going := map[grid.PairKey]*pair{}
	for _, k := range ins.servedTogether(keys) {
		if p := ins.pairs[k]; p != nil {
			going[k] = p
			for _, pt := range p.parts {
				pt.JumpOver()
			}
		}
	}
	now := ins.Now()
	ins.settleRows(h, now, going)
	for k, p := range going {
		if p.tier == grid.TierProbe {
			ins.passes.samplePairs(h, now, p.withServing())
		}
		delete(ins.pairs, k)
		for _, pt := range p.parts {
			if len(pt.Sites()) > 0 {
				ins.lingering.Add(pt)
			} else {
				pt.Release()
			}
		}
	}
}

// clean takes out what was switched off a while ago. It stops the targets.
func (ins *inserter) clean() { ins.sweep(false) }

// Settle takes out of the text what was switched off, now instead of within the next seconds.
func (ins *inserter) Settle() { ins.sweep(true) }

func (ins *inserter) sweep(all bool) {
	ins.enabling.Lock()
	defer ins.enabling.Unlock()
	ins.lingering.Sweep(all)
}

// analyse decodes the functions of a large batch on all processors, before the batch takes the lock.
func (ins *inserter) analyse(keys []grid.PairKey) {
	const large = 64
	if len(keys) < large {
		return
	}
	for _, t := range ins.targets {
		t.Lock()
		var fns []*plans.Function
		for _, k := range keys {
			for id := range t.FocusFunctions(k.Focus) {
				fns = append(fns, t.Plans.Of(t.Func(id)))
			}
		}
		plans.MakeAll(fns)
		t.Unlock()
	}
}

// addPart compiles a pair for a target, which is locked, and adds it to a batch. On an error nothing of it is left.
func (ins *inserter) addPart(b *batch.Batch, g *batch.Group, t *measuring.Process, key grid.PairKey) (*measuring.Part, error) {
	plain, serves := plainKey(key)
	p, err := measuring.NewPart(t, plain, serves, ins.nextOwner())
	if err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		p.Release()
		return nil, err
	}
	if err := p.AddTo(b, g); err != nil {
		return nil, err
	}
	return p, nil
}

// settleRows makes a pass where pairs that per-thread statistics or samples are for begin or end: the statistics tell how much there was since
// the last pass, and what lies before the beginning or behind the end is none of theirs. All targets are locked, and mu is held.
func (ins *inserter) settleRows(h hold, now float64, pairs map[grid.PairKey]*pair) {
	for _, p := range pairs {
		if p.tier != grid.TierProbe {
			ins.passes.passHolding(h, now)
			return
		}
	}
}

// tellFiles tells the probes of new pairs what descriptors stand for. enabling is held.
func (ins *inserter) tellFiles(pairs map[grid.PairKey]*pair) {
	for _, t := range ins.targets {
		t.Lock()
		if !t.Ended() && ins.followFilesOfLocked(t, pairs) {
			t.Files.Look(ins.Now())
		}
		t.Unlock()
	}
}

func (ins *inserter) followFilesOfLocked(t *measuring.Process, pairs map[grid.PairKey]*pair) bool {
	ins.mu.Lock()
	defer ins.mu.Unlock()
	return followFilesOf(t, pairs)
}

// completeTargets tries again to measure where not everything could be that is measured elsewhere. enabling is held.
func (ins *inserter) completeTargets(now time.Time) {
	for _, t := range ins.targets {
		t.Lock()
		since := t.Incomplete
		t.Unlock()
		if !t.Ended() && !since.IsZero() && now.Sub(since) >= children.WaitInterval {
			_ = ins.extend(t) // what cannot be measured there was said when it was joined
		}
	}
}
