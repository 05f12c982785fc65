package daemon

import (
	"slices"

	"culprit/daemon/batch"
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
	b := batch.New(&d.lingering)
	var grown []*part
	var come joining
	fresh := d.session.Tree.Version() != d.itemsAt
	d.itemsAt = d.session.Tree.Version()
	before := map[*patch.Site]uint64{}
	for key, p := range d.pairs {
		if p.keyed != nil {
			continue
		}
		it := d.session.ItemOf(key.Focus)
		for _, pt := range p.parts {
			if !pt.t.ended && pt.on && pt.grow(b, it, before) {
				grown = append(grown, pt)
			}
		}
		if fresh && it != nil {
			d.joinItem(b, p, it, &come)
		}
	}
	if len(grown)+len(come) == 0 {
		return
	}
	b.Commit()
	d.tellFiles(d.pairs)
	if !d.beginJoined(come) {
		d.itemsAt = 0 // another time
	}
	for _, pt := range grown {
		pt.unfinished = slices.ContainsFunc(pt.Sites(), func(s *patch.Site) bool { at, ok := before[s]; return ok && s.TrampolineAt() == at })
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
	p.code.ForgetGone()
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
func (p *part) grow(b *batch.Batch, it *pcl.GroupingItem, before map[*patch.Site]uint64) bool {
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
		sites, err := p.later(&r)
		if err != nil {
			p.t.d.noteRefusal(p, &r, err)
			continue
		}
		for _, s := range sites {
			before[s], touched = s.TrampolineAt(), true
		}
	}
	if touched {
		b.Renew(p)
	}
	return touched
}

// joinItem makes parts of a pair in those targets that had nothing of the item before.
func (d *Daemon) joinItem(b *batch.Batch, p *pair, it *pcl.GroupingItem, come *joining) {
	for _, t := range d.targets {
		if p.partIn(t) || t.ended || !t.Covers(p.key.Focus) || !t.HasItem(it) {
			continue
		}
		_ = come.add(d, b, p, t) // it may have nothing there that can be measured
	}
}

// later puts the code of one more request of a part at its sites.
func (p *part) later(r *pcl.Request) ([]*patch.Site, error) {
	if err := p.t.Sites.Prepare(r); err != nil {
		return nil, err
	}
	return p.code.Add(r)
}

// A joining is parts that are added to pairs that are measured elsewhere.
type joining []joined

// A joined part comes to a pair, with a batch.
type joined struct {
	pair  *pair
	part  *part
	group *batch.Group
}

// add makes a part of a pair in a target.
func (j *joining) add(d *Daemon, b *batch.Batch, p *pair, t *measured) error {
	g := b.Group()
	pt, err := d.addPart(b, g, t, p.key)
	if err == nil {
		*j = append(*j, joined{p, pt, g})
	}
	return err
}

// beginJoined has the parts that a batch has brought in measured, and tells whether that is all of them.
func (d *Daemon) beginJoined(j joining) (all bool) {
	all = true
	for _, x := range j {
		if x.group.Err() != nil { // a thread stood in the way
			all = false
			continue
		}
		x.pair.parts, x.pair.tier = append(x.pair.parts, x.part), coarser(x.pair.tier, x.part.meter.Tier())
		d.start(&pair{key: x.pair.key, parts: []*part{x.part}}, map[*measured]bool{})
	}
	return all
}
