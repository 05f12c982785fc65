package probe

// Executions is how often the probes had run at the last reading of the blocks, and those apart that keep up with what descriptors stand for.
// ok is false where there are none.
func (m *Meter) Executions() (each, followed uint64, ok bool) {
	if !m.isIn() {
		return 0, 0, false
	}
	each = m.b.sum(m.b.slots, m.counter())
	if m.Follows != 0 {
		followed = m.b.sum(m.b.slots, m.Follows)
	}
	return each, followed, true
}

// Count is how often the probes have run up to now.
func (m *Meter) Count() uint64 { return m.b.sum(m.t.Seg.Used(nil), m.counter()) }

// sum adds up a word of some blocks.
func (b *Blocks) sum(slots []int, cell int32) (sum uint64) {
	for _, slot := range slots {
		sum += b.t.Seg.Load(slot, cell)
	}
	return sum
}
