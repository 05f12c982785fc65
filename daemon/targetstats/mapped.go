package targetstats

import (
	"errors"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/threadstats"
	"culprit/trampoline"
)

// Map makes the statistics readable for the target's probes, in a stop of the target.
func (t *Table) Map(stop func(func(*process.World) error) error) error {
	if t.IsMapped() || t.unmapped != nil {
		return t.unmapped
	}
	err := t.Keep()
	if err == nil {
		err = segment.AffordsMappings(t.Proc)
	}
	if err == nil {
		err = t.seg.MapRows(stop, t.kept.FD(), t.kept.Size())
	}
	var deferred *process.Deferred
	if errors.As(err, &deferred) { // it may work the next time
		return err
	}
	if t.unmapped = err; err != nil {
		t.Logf("%s: its probes cannot read the per-thread statistics (eBPF): %v", t.Name, err)
	}
	return err
}

// Link gives thread blocks that were claimed before their thread had a row, or before the rows were there, the address of it.
func (t *Table) Link() {
	if !t.IsMapped() {
		return
	}
	for slot := range t.seg.Slots {
		if t.seg.Claims()[slot] == 0 || t.seg.Load(slot, trampoline.BlockRow) != 0 {
			continue
		}
		if tp := t.seg.Load(slot, 0); tp != 0 {
			if i, ok := t.kept.Find(tp); ok {
				t.seg.Store(slot, trampoline.BlockRow, trampoline.RowWord(i))
			}
		}
	}
}

// rowOf is the number of the row that a block's thread reads.
func (t *Table) rowOf(slot int) (index int, ok bool) {
	if !t.IsMapped() {
		return 0, false
	}
	return t.seg.RowIndex(t.seg.Load(slot, trampoline.BlockRow))
}

// Now is what a quantity of the thread of a block is now, with what is going on; false if the block has no row.
func (t *Table) Now(slot int, q threadstats.Quantity) (uint64, bool) {
	i, ok := t.rowOf(slot)
	if !ok {
		return 0, false
	}
	return uint64(t.kept.Value(i, q, monotonic())), true
}
