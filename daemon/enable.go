package daemon

import (
	"slices"

	"culprit/daemon/batch"
	"culprit/grid"
)

// Enable implements grid.Instrumenter.
func (d *Daemon) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.analyse(keys)
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.newInsertion(sink)
	results := in.prepare(keys)
	in.commit()
	in.begin(results)
	return results
}

// An insertion is pairs that are enabled together. Its steps are prepare, commit, begin.
type insertion struct {
	d      *Daemon
	sink   grid.Sink
	batch  *batch.Batch
	made   map[grid.PairKey]*pair // also those that serve others
	groups map[*pair]*batch.Group
}

func (d *Daemon) newInsertion(sink grid.Sink) *insertion {
	return &insertion{d: d, sink: sink, batch: batch.New(&d.lingering), made: map[grid.PairKey]*pair{}, groups: map[*pair]*batch.Group{}}
}

// prepare compiles the pairs and puts their code at its sites; nothing is patched yet.
func (in *insertion) prepare(keys []grid.PairKey) []grid.EnableResult {
	results := make([]grid.EnableResult, len(keys))
	for i, key := range keys {
		results[i] = grid.EnableResult{Key: key}
		p, err := in.add(key)
		if err != nil {
			results[i].Err = in.d.typed(err)
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

// addPart adds a part in a target to a pair of the insertion.
func (in *insertion) addPart(p *pair, t *measured) error {
	pt, err := in.d.addPart(in.batch, in.groups[p], t, p.key)
	if err != nil {
		return err
	}
	p.parts, p.tier = append(p.parts, pt), coarser(p.tier, pt.meter.Tier())
	return nil
}

func (in *insertion) addPlain(key grid.PairKey, sink grid.Sink) (*pair, error) {
	p := in.newPair(key, sink, grid.TierKernel)
	_, serves := plainKey(key)
	covered := false
	var errs []error // a function of one program need not be in another
	for _, t := range in.d.targets {
		if t.ended || !t.Covers(key.Focus) || serves && t.onlyLooked() {
			continue
		}
		covered = true
		err := t.CheckThread(key.Focus)
		if err == nil {
			err = in.addPart(p, t)
		}
		if err != nil {
			errs = append(errs, err)
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

// commit patches. What is told to the files comes after it: a file that a target closes meanwhile is seen by the probes.
func (in *insertion) commit() {
	in.batch.Commit()
	for p, g := range in.groups {
		p.parts = slices.DeleteFunc(p.parts, func(pt *part) bool { return !g.Has(pt) })
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
	now := in.d.Now()
	in.d.settleRows(now, in.made)
	read := map[*measured]bool{}
	in.beginServing(now, read)
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

// begin has a pair measured from now on.
func (d *Daemon) begin(p *pair, now float64, read map[*measured]bool) {
	p.since, p.last = now, now
	d.pairs[p.key] = p
	d.start(p, read)
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
				pt.jumpOver()
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
			if len(pt.Sites()) > 0 {
				d.lingering.Add(pt)
			} else {
				pt.Release()
			}
		}
	}
}

// clean takes out what was switched off a while ago. It stops the targets.
func (d *Daemon) clean() { d.sweep(false) }

// Settle takes out of the text what was switched off, now instead of within the next seconds.
func (d *Daemon) Settle() { d.sweep(true) }

func (d *Daemon) sweep(all bool) {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lingering.Sweep(all)
}
