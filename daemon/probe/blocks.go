package probe

import (
	"culprit/daemon/kernel"
	"culprit/daemon/target"
	"culprit/daemon/threads"
	"culprit/trampoline"
)

// Blocks are the thread blocks of one target as of the last reading: what one pass over its cells needs.
type Blocks struct {
	t      *target.Target
	state  State
	tsc    uint64
	slots  []int
	owner  map[int]int           // slot -> tid of the live thread that owns it, 0 if dead or unknown
	shares map[int]threads.Share // slot -> whose growth it is
	parked map[int]bool          // tid
	cpu    map[int]uint64        // tid -> CPU time in ns, as far as it was asked for
}

// NewBlocks are the blocks of a target that was not read yet.
func NewBlocks(t *target.Target) *Blocks { return &Blocks{t: t} }

// A State is what is known of a target when its blocks are read.
type State struct {
	Calm    bool // no thread has begun and ended since the last reading
	Ended   bool
	Settled bool // its last values were taken, and that was all
}

// Read prepares a pass at session time now.
func (b *Blocks) Read(now float64, s State) {
	*b = Blocks{t: b.t, state: s, slots: b.slots[:0],
		owner: map[int]int{}, shares: map[int]threads.Share{}, parked: b.t.Threads.Parked(), cpu: map[int]uint64{}}
	seg := b.t.Seg
	if seg == nil {
		return
	}
	b.slots = seg.Used(b.slots)
	for _, slot := range b.slots {
		if !s.Ended { // afterwards there is nobody for whom time goes on
			b.owner[slot] = b.t.Threads.OwnerOf(seg.Load(slot, 0))
		}
		b.shares[slot] = b.t.Threads.ShareOf(seg.Load(slot, 0), b.owner[slot], now, s.Calm, s.Ended)
	}
	b.tsc = kernel.TSC()
}

// cpuOf is a thread's CPU time in ns, read once a pass.
func (b *Blocks) cpuOf(tid int) uint64 {
	if v, ok := b.cpu[tid]; ok {
		return v
	}
	v := uint64(b.t.Threads.CPUTime(tid))
	b.cpu[tid] = v
	return v
}

// Zero clears the cells of meters in all blocks. No code refers to them yet.
func (b *Blocks) Zero(ms ...*Meter) {
	if b.t.Seg == nil || len(ms) == 0 {
		return
	}
	var cells []Cell
	for _, m := range ms {
		cells = append(cells, m.Words()...)
	}
	for _, slot := range append(b.t.Seg.Used(nil), b.t.Seg.Slots) {
		for _, c := range cells {
			b.clear(slot, c)
		}
	}
	for _, m := range ms {
		m.readAt = b.t.Now()
	}
}

// clear clears a cell in one block.
func (b *Blocks) clear(slot int, c Cell) {
	for off := int32(0); off < c.Size; off += trampoline.WordSize {
		b.t.Seg.Store(slot, c.Off+off, 0)
	}
}
