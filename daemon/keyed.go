package daemon

import (
	"slices"
	"strings"

	"culprit/daemon/measuring"
	"culprit/daemon/probe"
	"culprit/grid"
)

// Pairs whose focus chooses a key have no code of their own. A pair that serves all keys has the code and the tables, and is there as
// long as somebody asks for one of them; nobody sees it. Where a target is only looked at there are no tables: a sample of a blocked thread
// tells what it waits for, and the pair has a part of its own there.

// servingMark stands in front of the metric's name in the key of a pair that serves others; no metric's name has a blank.
const servingMark = "serving "

// plainKey is what a serving pair measures, and whether it is one.
func plainKey(key grid.PairKey) (grid.PairKey, bool) {
	name, serves := strings.CutPrefix(key.Metric, servingMark)
	return grid.PairKey{Metric: name, Focus: key.Focus}, serves
}

// probed reports whether a focus covers a target with probes.
func (ins *inserter) probed(f grid.Focus) bool {
	return slices.ContainsFunc(ins.targets, func(t *measuring.Process) bool {
		t.Lock()
		defer t.Unlock()
		return !t.Ended() && !t.OnlyLooked() && t.Covers(f)
	})
}

// hasPartsIn reports whether a pair has parts in targets such as t.
func (p *pair) hasPartsIn(t *measuring.Process) bool {
	if t.OnlyLooked() {
		_, serves := plainKey(p.key)
		return !serves
	}
	return p.keyed == nil
}

// A keyedPair is what a pair that chooses a key has besides.
type keyedPair struct {
	of     *pair // that serves it
	object *probe.Chosen
}

// addKeyed makes a pair that is read out of the tables of one that serves all keys, and that one, if it is not there yet.
func (in *insertion) addKeyed(key, all grid.PairKey, h grid.Hierarchy) (*pair, error) {
	serving, fresh := in.d.pairs[all], false
	if serving == nil {
		serving = in.made[all]
	}
	if serving == nil {
		p, err := in.addPlain(all, nil)
		if err != nil {
			return nil, err
		}
		serving, fresh = p, true
	}
	k := &keyedPair{of: serving, object: probe.Choose(h, key.Focus.Elements(h))}
	if err := in.d.find(k.object, serving); err != nil {
		if fresh {
			in.withdraw(serving)
		}
		return in.addLooked(key, err)
	}
	if fresh {
		in.made[all] = serving
	}
	p := in.newPair(key, in.sink, grid.TierProbe)
	p.keyed = k
	in.addSampled(p)
	return p, nil
}

// find looks for an object in the targets of a pair.
func (ins *inserter) find(object *probe.Chosen, p *pair) error {
	ins.mu.Lock()
	meters := p.probes()
	ins.mu.Unlock()
	defer ins.holdAll().release()
	return object.Find(meters)
}

// addLooked makes a pair that chooses a key where only targets that are looked at have it. err is why the others have none of it.
func (in *insertion) addLooked(key grid.PairKey, err error) (*pair, error) {
	p := in.newPair(key, in.sink, grid.TierKernel)
	if in.addSampled(p); len(p.parts) == 0 {
		return nil, err
	}
	return p, nil
}

// addSampled adds parts to a pair that chooses a key where targets are only looked at.
func (in *insertion) addSampled(p *pair) {
	for _, t := range in.d.targets {
		if t.Lock(); !t.Ended() && t.OnlyLooked() && t.Covers(p.key.Focus) {
			_ = in.addPart(p, t) // else the targets with probes tell it
		}
		t.Unlock()
	}
}

// withdraw takes back a pair that was not patched in.
func (in *insertion) withdraw(p *pair) {
	for _, pt := range p.parts {
		pt.Process.Lock()
		in.batch.Withdraw(pt)
		pt.Process.Unlock()
	}
}

// probes are the meters of the parts of a pair that probes measure.
func (p *pair) probes() (list []*probe.Meter) {
	for _, pt := range p.parts {
		if pt.Probes != nil {
			list = append(list, pt.Probes)
		}
	}
	return list
}

// beginServing brings the pairs that serve others into operation, and reads those that were there before up to now, so that pairs that
// choose a key begin at the present totals.
func (in *insertion) beginServing(h hold, now float64, read map[*measuring.Process]bool) {
	for key, p := range in.made {
		if _, serves := plainKey(key); serves && in.failure(p) == nil {
			in.d.begin(p, now, read)
		}
	}
	served := map[grid.PairKey]*pair{}
	for _, p := range in.made {
		if p.keyed != nil && p.keyed.of.last < now {
			served[p.keyed.of.key] = p.keyed.of
		}
	}
	if len(served) > 0 {
		in.d.passes.samplePairs(h, now, served)
	}
	for _, p := range in.made {
		if p.keyed != nil {
			p.keyed.object.Begin(p.keyed.of.probes())
		}
	}
}

// servedTogether is keys together with the serving pairs that nobody will ask any more without them.
func (ins *inserter) servedTogether(keys []grid.PairKey) []grid.PairKey {
	keys = slices.Clone(keys)
	going := map[grid.PairKey]bool{}
	for _, k := range keys {
		going[k] = true
	}
	users := map[grid.PairKey]int{}
	for k, p := range ins.pairs {
		if p.keyed != nil && !going[k] {
			users[p.keyed.of.key]++
		}
	}
	for k := range ins.pairs {
		if _, serves := plainKey(k); serves && users[k] == 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// withServing is a pair together with the one that serves it.
func (p *pair) withServing() map[grid.PairKey]*pair {
	m := map[grid.PairKey]*pair{p.key: p}
	if p.keyed != nil {
		m[p.keyed.of.key] = p.keyed.of
	}
	return m
}
