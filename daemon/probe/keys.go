package probe

import (
	"math"

	"culprit/pcl"
	"culprit/trampoline"
)

// Tables of meters whose base is told apart by a counter: in every thread block a sum for each key, read with each pass. Entries only
// grow; what a running timer adds is looked up under the key that its thread has at the moment.

// Keys are addresses and descriptors. The highest byte of a key in a table says of which kind an object is, where the function that
// the key was set in tells.
const (
	tagShift = 56

	// KeyMask is what of a key is the object itself.
	KeyMask = 1<<tagShift - 1
)

// MostKeys bounds how many different keys of a meter are kept: what is in a table is the target's.
const MostKeys = 1 << 16

// A keyTable is what was read of the tables of a meter.
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

// wantsTable reports whether a meter has a table: one that serves single objects must, and one of all objects of a kind everywhere
// may, so that they become known.
func wantsTable(plan *pcl.Plan, serves bool) Want {
	switch {
	case plan.By == 0:
	case serves:
		return Needed
	case len(plan.Vars) > plan.By && !plan.Restricted():
		return IfRoom
	}
	return Without
}

// begin makes room for what will be read.
func (k *keyTable) begin() {
	*k = keyTable{totals: map[uint64]float64{}, tags: map[uint64]byte{}, slots: map[int]map[uint64]keySum{}, parked: map[int]float64{}}
}

// read adds to the totals what the entries have grown by since the last pass.
func (k *keyTable) read(m *Meter, since float64) {
	if m.Table == 0 {
		return
	}
	var lost uint64
	for _, slot := range m.b.slots {
		if slot == m.t.Seg.Slots {
			continue // threads that share a block would write into each other's entries
		}
		lost += m.t.Seg.Load(slot, m.Table+trampoline.TableLost)
		k.readBlock(m, slot, since)
	}
	if lost != k.lost && !k.full {
		k.full = true
		m.t.Logf("%s: %v: a thread uses more than %d objects, or some whose places collide: values of single objects are lower bounds",
			m.t.Name, m.Plan.Pair, trampoline.TableEntries)
	}
	k.lost = lost
}

// readBlock reads the table of one thread block. Where idle time does not count, a wait that is taken for a parked one shows nothing
// while it lasts, and at its end no more than since the last reading.
func (k *keyTable) readBlock(m *Meter, slot int, since float64) {
	running, flying := m.flying(slot)
	from := math.Inf(-1)
	if hidden, was := k.parked[slot]; was {
		from = since - short(hidden)
		delete(k.parked, slot)
	}
	if m.Plan.ExcludeParked && m.b.parked[m.b.owner[slot]] {
		k.parked[slot] = m.inUnits(running)
		running, flying = 0, 0
	}
	for i := range int32(trampoline.TableEntries) {
		at := m.Table + trampoline.TableFirst + i*trampoline.TableEntry
		key := m.t.Seg.Load(slot, at)
		if key == 0 {
			continue
		}
		v := m.t.Seg.Load(slot, at+trampoline.TableValue)
		if key == flying {
			v, flying = v+running, 0
		}
		k.take(m, slot, key, v, from)
	}
	if flying != 0 {
		k.take(m, slot, flying, running, from)
	}
}

// flying is what a running timer of a thread has not added yet, and under which key it will.
func (m *Meter) flying(slot int) (d, key uint64) {
	c := m.Cells[0]
	if c.Kind == pcl.Counter || m.b.owner[slot] == 0 || m.t.Seg.Load(slot, c.Off+trampoline.TimerActive) == 0 {
		return 0, 0
	}
	start, now := m.t.Seg.Load(slot, c.Off+trampoline.TimerStart), m.b.tsc
	if c.Kind == pcl.ProcessTimer {
		now = m.b.cpuOf(m.b.owner[slot])
	}
	if m.t.Seg.Load(slot, c.Off+trampoline.TimerActive) == 0 || now <= start {
		return 0, 0
	}
	return now - start, m.t.Seg.Load(slot, m.Cells[m.Plan.By].Off)
}

// take takes one reading of an entry, of whose growth no more counts than the time since from, a session time.
func (k *keyTable) take(m *Meter, slot int, key, v uint64, from float64) {
	if k.slots[slot] == nil {
		k.slots[slot] = map[uint64]keySum{}
	}
	last, known := k.slots[slot][key]
	if !known && len(k.slots[slot]) > 2*trampoline.TableEntries {
		return // no table holds so many: the target writes into it
	}
	switch {
	case v < last.value && !last.doubted:
		k.slots[slot][key] = keySum{last.value, true}
		return
	case v < last.value:
		last.value = v
	}
	k.slots[slot][key] = keySum{value: v}
	object := key & KeyMask
	if _, ok := k.totals[object]; !ok && len(k.totals) >= MostKeys || !m.sure(slot) || v-last.value >= mostGrowth {
		return
	}
	k.totals[object] += min(m.inUnits(v-last.value), m.t.Now()-from)
	if tag := byte(key >> tagShift); tag != 0 {
		k.tags[object] = tag
	}
}

// Total is what was added for a key since the table was reserved, in the metric's unit.
func (m *Meter) Total(key uint64) float64 { return m.keys.totals[key] }

// KeysKept is how many keys are kept, of all blocks together and at most of one.
func (m *Meter) KeysKept() (all, one int) {
	for _, sums := range m.keys.slots {
		one = max(one, len(sums))
	}
	return len(m.keys.totals), one
}
