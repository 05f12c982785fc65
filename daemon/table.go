package daemon

import (
	"math"

	"culprit/daemon/probe"
	"culprit/pcl"
	"culprit/trampoline"
)

// Tables of parts whose base is told apart by a counter: in every thread block a sum for each key, read with each pass. Entries only
// grow; what a running timer adds is looked up under the key that its thread has at the moment.

// Keys are addresses and descriptors. The highest byte of a key in a table says of which kind an object is, where the function that
// the key was set in tells.
const (
	tagShift = 56
	keyMask  = 1<<tagShift - 1
)

// maxKeys bounds how many different keys of a part are kept: what is in a table is the target's.
const maxKeys = 1 << 16

// A keyTable is what was read of the tables of a part.
type keyTable struct {
	totals map[uint64]float64
	tags   map[uint64]byte
	slots  map[int]map[uint64]keySum
	parked map[int]float64 // thread blocks whose thread was parked in the last pass -> s that its wait had lasted
	lost   uint64          // what found no place, as of the last pass
	full   bool            // something found none, and it was said
}

// A keySum is the last reading of one entry, running time included.
type keySum struct {
	value   uint64
	doubted bool // the next reading was lower: a timer was stopped and its sum has not grown yet, or it was given up
}

// wantsTable reports whether a part has a table: one that serves single objects must, and one of all objects of a kind everywhere
// may, so that they become known.
func (p *part) wantsTable() probe.Want {
	switch {
	case p.plan.By == 0:
	case p.serves:
		return probe.Needed
	case len(p.plan.Vars) > p.plan.By && !p.plan.Restricted():
		return probe.IfRoom
	}
	return probe.Without
}

// readTable adds to the totals what the entries have grown by since the last pass.
func (p *part) readTable(r *reading, since float64) {
	if p.Table == 0 {
		return
	}
	var lost uint64
	for _, slot := range r.slots {
		if slot == p.t.Seg.Slots {
			continue // threads that share a block would write into each other's entries
		}
		lost += p.t.Seg.Load(slot, p.Table+trampoline.TableLost)
		p.readKeys(r, slot, since)
	}
	if lost != p.keys.lost && !p.keys.full {
		p.keys.full = true
		p.t.Logf("%s: %v: a thread uses more than %d objects, or some whose places collide: values of single objects are lower bounds",
			p.t.Name, p.plan.Pair, trampoline.TableEntries)
	}
	p.keys.lost = lost
}

// readKeys reads the table of one thread block. Where idle time does not count, a wait that is taken for a parked one shows nothing
// while it lasts, and at its end no more than since the last reading.
func (p *part) readKeys(r *reading, slot int, since float64) {
	running, flying := p.flying(r, slot)
	from := math.Inf(-1)
	if hidden, was := p.keys.parked[slot]; was {
		from = since - (&slotValue{hidden: hidden}).short()
		delete(p.keys.parked, slot)
	}
	if p.plan.ExcludeParked && r.parked[r.owner[slot]] {
		p.keys.parked[slot] = p.inUnits(running)
		running, flying = 0, 0
	}
	for i := range int32(trampoline.TableEntries) {
		at := p.Table + trampoline.TableFirst + i*trampoline.TableEntry
		key := p.t.Seg.Load(slot, at)
		if key == 0 {
			continue
		}
		v := p.t.Seg.Load(slot, at+trampoline.TableValue)
		if key == flying {
			v, flying = v+running, 0
		}
		p.keyGrowth(r, slot, key, v, from)
	}
	if flying != 0 {
		p.keyGrowth(r, slot, flying, running, from)
	}
}

// flying is what a running timer of a thread has not added yet, and under which key it will.
func (p *part) flying(r *reading, slot int) (d, key uint64) {
	c := p.Cells[0]
	if c.Kind == pcl.Counter || r.owner[slot] == 0 || p.t.Seg.Load(slot, c.Off+trampoline.TimerActive) == 0 {
		return 0, 0
	}
	start, now := p.t.Seg.Load(slot, c.Off+trampoline.TimerStart), r.tsc
	if c.Kind == pcl.ProcessTimer {
		now = r.cpuOf(p.t, r.owner[slot])
	}
	if p.t.Seg.Load(slot, c.Off+trampoline.TimerActive) == 0 || now <= start {
		return 0, 0
	}
	return now - start, p.t.Seg.Load(slot, p.Cells[p.plan.By].Off)
}

// keyGrowth takes one reading of an entry, of whose growth no more counts than the time since from, a session time.
func (p *part) keyGrowth(r *reading, slot int, key, v uint64, from float64) {
	if p.keys.slots[slot] == nil {
		p.keys.slots[slot] = map[uint64]keySum{}
	}
	last, known := p.keys.slots[slot][key]
	if !known && len(p.keys.slots[slot]) > 2*trampoline.TableEntries {
		return // no table holds so many: the target writes into it
	}
	switch {
	case v < last.value && !last.doubted:
		p.keys.slots[slot][key] = keySum{last.value, true}
		return
	case v < last.value:
		last.value = v
	}
	p.keys.slots[slot][key] = keySum{value: v}
	short := key & keyMask
	if _, ok := p.keys.totals[short]; !ok && len(p.keys.totals) >= maxKeys || !p.sure(r, slot) || v-last.value >= mostGrowth {
		return
	}
	p.keys.totals[short] += min(p.inUnits(v-last.value), p.t.Now()-from)
	if tag := byte(key >> tagShift); tag != 0 {
		p.keys.tags[short] = tag
	}
}

// inUnits is what was added in the metric's unit.
func (p *part) inUnits(d uint64) float64 {
	if c := p.Cells[0]; c.Kind != pcl.Counter {
		return p.seconds(c, d)
	}
	return float64(d)
}
