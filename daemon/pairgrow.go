package daemon

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/measuring"
	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/pcl"
)

// What a pair stands for may come later: a library is loaded, a file is opened, a lock is seen. A pair at an item then grows, as does one
// that a library has gone from that is loaded again: the code for what has come is added to the part that counts already, with the
// same cells, so that nothing is counted twice and nothing of what was counted is lost.

// grow lets pairs grow. It stops the targets only if there is something to add.
func (ins *inserter) grow() {
	ins.enabling.Lock()
	defer ins.enabling.Unlock()
	b := batch.New(&ins.lingering)
	var grown []*measuring.Part
	var come joining
	version := ins.session.Tree.Version()
	fresh := version != ins.itemsAt
	ins.itemsAt = version
	before := map[*patch.Site]uint64{}
	for key, p := range ins.pairs {
		if p.keyed != nil {
			continue
		}
		it := ins.session.ItemOf(key.Focus)
		grown = append(grown, growParts(b, ins.partsIn(p), it, before)...)
		if fresh && it != nil {
			ins.joinItem(b, p, it, &come)
		}
	}
	if len(grown)+len(come) == 0 {
		return
	}
	b.Commit()
	ins.tellFiles(ins.pairs)
	if !ins.beginJoined(come) {
		ins.itemsAt = 0 // another time
	}
	for _, pt := range grown {
		pt.Process.Lock()
		pt.Unfinished = slices.ContainsFunc(pt.Sites(), func(s *patch.Site) bool { at, ok := before[s]; return ok && s.TrampolineAt() == at })
		pt.Process.Unlock()
	}
}

// growParts adds to parts what their targets have only now, and gives those that have sites to be patched.
func growParts(b *batch.Batch, parts []*measuring.Part, it *pcl.GroupingItem, before map[*patch.Site]uint64) (grown []*measuring.Part) {
	for _, pt := range parts {
		pt.Process.Lock()
		if !pt.Process.Ended() && pt.On && pt.Grow(b, it, before) {
			grown = append(grown, pt)
		}
		pt.Process.Unlock()
	}
	return grown
}

// joinItem makes parts of a pair in those targets that had nothing of the item before.
func (ins *inserter) joinItem(b *batch.Batch, p *pair, it *pcl.GroupingItem, come *joining) {
	for _, t := range ins.targets {
		if t.Ended() || !t.Covers(p.key.Focus) || ins.isIn(p, t) {
			continue
		}
		if t.Lock(); t.HasItem(it) {
			_ = come.add(ins, b, p, t) // it may have nothing there that can be measured
		}
		t.Unlock()
	}
}

// A joining is parts that are added to pairs that are measured elsewhere.
type joining []joined

// A joined part comes to a pair, with a batch.
type joined struct {
	pair  *pair
	part  *measuring.Part
	group *batch.Group
}

// add makes a part of a pair in a target, which is locked.
func (j *joining) add(ins *inserter, b *batch.Batch, p *pair, t *measuring.Process) error {
	g := b.Group()
	pt, err := ins.addPart(b, g, t, p.key)
	if err == nil {
		*j = append(*j, joined{p, pt, g})
	}
	return err
}

// beginJoined has the parts that a batch has brought in measured, and tells whether that is all of them.
func (ins *inserter) beginJoined(j joining) (all bool) {
	defer ins.holdAll().release()
	ins.mu.Lock()
	defer ins.mu.Unlock()
	all = true
	for _, x := range j {
		if x.group.Err() != nil { // a thread stood in the way
			all = false
			continue
		}
		x.pair.parts, x.pair.tier = append(x.pair.parts, x.part), coarser(x.pair.tier, x.part.Meter.Tier())
		ins.start(&pair{key: x.pair.key, parts: []*measuring.Part{x.part}}, ins.Now(), map[*measuring.Process]bool{})
	}
	return all
}

// extend adds a part in a target to every pair whose focus covers it and that has none there: the target is new, or has new code. enabling is held.
func (ins *inserter) extend(t *measuring.Process) error {
	b := batch.New(&ins.lingering)
	var come joining
	var errs []error
	for key, p := range ins.pairs {
		if !t.Covers(key.Focus) || ins.isIn(p, t) {
			continue
		}
		t.Lock()
		var err error
		if p.hasPartsIn(t) {
			err = come.add(ins, b, p, t)
		}
		t.Unlock()
		if err != nil {
			elsewhere := len(key.Focus.Elements(grid.Code)) > 0 || key.Focus.Depth(grid.Defined) > 0 || pcl.NothingThere(err)
			if !elsewhere { // a function of another program is no news
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
		}
	}
	b.Commit()
	var incomplete time.Time
	if !ins.beginJoined(come) {
		incomplete = time.Now() // another time
	}
	t.Lock()
	defer t.Unlock()
	t.Incomplete = incomplete
	return errors.Join(errs...)
}
