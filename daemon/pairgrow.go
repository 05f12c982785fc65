package daemon

import (
	"slices"

	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/pcl"
)

// What a pair stands for may come later: a library is loaded, a file is opened, a lock is seen. A pair at an item then grows, as does one
// that a library has gone from that is loaded again: the code for what has come is added to the part that counts already, with the
// same cells, so that nothing is counted twice and nothing of what was counted is lost.

// grow lets pairs grow. It stops the targets only if there is something to add.
func (d *Daemon) grow() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.newBatch()
	var grown []*part
	joined := map[*part]*pair{}
	fresh := d.session.Tree.Version() != d.itemsAt
	d.itemsAt = d.session.Tree.Version()
	before := map[*patch.Site]uint64{}
	for key, p := range d.pairs {
		if p.keyed != nil {
			continue
		}
		it := d.session.ItemOf(key.Focus)
		for _, pt := range p.parts {
			if !pt.t.ended && pt.on && b.grow(pt, it, before) {
				grown = append(grown, pt)
			}
		}
		if fresh && it != nil {
			b.joinItem(p, it, joined)
		}
	}
	if len(grown)+len(joined) == 0 {
		return
	}
	b.run()
	d.tellFiles(d.pairs)
	for pt, p := range joined {
		p.parts, p.tier = append(p.parts, pt), coarser(p.tier, pt.meter.Tier())
		d.start(&pair{key: p.key, parts: []*part{pt}}, map[*measured]bool{})
	}
	for _, pt := range grown {
		pt.unfinished = slices.ContainsFunc(pt.sites, func(s *patch.Site) bool { at, ok := before[s]; return ok && s.TrampolineAt() == at })
	}
}

// mayGrow reports whether the target has come to have something of the part's item, if it has one, or of the code that the part has lost.
func (p *part) mayGrow(it *pcl.GroupingItem) bool {
	more := p.lost && p.t.Loads() > p.loads
	p.loads = p.t.Loads()
	if it != nil {
		lacking := p.t.Lacking(it)
		more = more || lacking < p.lacking
		p.lacking = lacking
	}
	return more
}

// loses forgets the requests of a part in code that is gone.
func (p *part) loses(o *program.Object) {
	isIn := func(r pcl.Request) bool { return o.Holds(uint64(r.Func)) }
	p.plan.Requests = slices.DeleteFunc(slices.Clone(p.plan.Requests), isIn)
	p.sites = slices.DeleteFunc(slices.Clone(p.sites), func(s *patch.Site) bool { return s.Gone() })
	p.lost, p.loads = true, p.t.Loads()
	p.noteUnloaded(o)
}

// noteUnloaded counts that an object went and took probes of the part with it.
func (p *part) noteUnloaded(o *program.Object) {
	if p.unloaded == nil {
		p.unloaded = map[string]int{}
	}
	p.unloaded[o.Name]++
}

// grow adds to a part what its target has only now, and reports whether sites have to be patched. before gets where the trampolines of
// these sites are until then.
func (b *batch) grow(p *part, it *pcl.GroupingItem, before map[*patch.Site]uint64) bool {
	if !p.mayGrow(it) && !p.unfinished {
		return false
	}
	plan, err := p.t.planOf(p.plan.Pair)
	if err != nil || !slices.Equal(plan.Vars, p.plan.Vars) {
		return false
	}
	if p.meter.Adopt(plan) {
		return false
	}
	touched := p.unfinished
	for _, r := range plan.Beyond(p.plan) {
		p.plan.Requests = append(p.plan.Requests, r)
		sites, err := b.later(p, &r)
		if err != nil {
			b.d.noteRefusal(p, &r, err)
			continue
		}
		p.sites = append(p.sites, sites...)
		for _, s := range sites {
			before[s], touched = s.TrampolineAt(), true
		}
	}
	if touched {
		b.touch(p)
	}
	return touched
}

// joinItem makes parts of a pair in those targets that had nothing of the item before.
func (b *batch) joinItem(p *pair, it *pcl.GroupingItem, joined map[*part]*pair) {
	for _, t := range b.d.targets {
		has := slices.ContainsFunc(p.parts, func(pt *part) bool { return pt.t == t })
		if has || t.ended || !t.Covers(p.key.Focus) || !t.HasItem(it) {
			continue
		}
		if pt, err := b.part(t, p.key); err == nil {
			joined[pt] = p
		}
	}
}

// later puts the code of one more request of a part at its sites.
func (b *batch) later(p *part, r *pcl.Request) ([]*patch.Site, error) {
	if err := p.t.Sites.Prepare(r); err != nil {
		return nil, err
	}
	return p.request(r)
}
