package probe

import (
	"culprit/daemon/kernel"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// A Meter is a plan that probes measure in one target.
type Meter struct {
	Layout
	o Options
	t *target.Target
	b *Blocks

	seen   map[int]slotValue // last value by thread block
	readAt float64           // session time at which the cells were last read, or cleared
	more   float64           // of a thread: what may be its own beside its value
	less   float64           // what of its value may be of others
	asks   bool              // the probes make system calls

	keys    keyTable
	gauge   gauge
	tallies tallies
}

// Options are what a meter is told besides its plan.
type Options struct {
	Serves bool // others read what is told apart from it
	Files  bool // the probes ask what descriptors stand for
}

// New is a meter for which nothing is reserved yet. With rows its timers read the kernel's rows, where they can.
func New(b *Blocks, plan *pcl.Plan, rows bool, o Options) *Meter {
	m := &Meter{Layout: NewLayout(plan, rows), o: o, t: b.t, b: b, seen: map[int]slotValue{}, tallies: tallies{}}
	m.KeyOf = m.tagged
	m.gauge = newGauge(m)
	return m
}

// Reserve reserves the cells. After an error Close gives back what was reserved until then.
func (m *Meter) Reserve() error {
	if err := m.Layout.Reserve(&m.t.Cells, wantsTable(m.Plan, m.o.Serves), m.o.Files); err != nil {
		return err
	}
	m.keys.begin()
	return nil
}

// Close gives the cells back as soon as no trampoline that was retired so far has a thread inside: an old one may still write to them.
func (m *Meter) Close() {
	cells, t := m.Words(), m.t
	t.Text.WhenLeft(func() {
		for _, c := range cells {
			t.Cells.Release(c.Off, c.Size)
		}
	})
	m.Clear()
	m.keys = keyTable{}
}

// Tier is that of probes.
func (m *Meter) Tier() grid.Tier { return grid.TierProbe }

// Adopt takes nothing: more code needs a change of the target.
func (m *Meter) Adopt(*pcl.Plan) bool { return false }

// Variance is of no use: what is counted is exact.
func (m *Meter) Variance() (float64, bool) { return 0, false }

// Begin has nothing to do: the cells were cleared when the probes came.
func (m *Meter) Begin() {}

// isIn reports whether there are cells to read.
func (m *Meter) isIn() bool { return len(m.Cells) > 0 && m.t.Seg != nil }

// Grown is by how much the value has grown in the thread blocks since the last pass, in the metric's unit.
func (m *Meter) Grown(float64) float64 {
	if !m.isIn() {
		return 0
	}
	c, since := m.Cells[0], m.readAt
	m.readAt, m.b.tsc = m.t.Now(), kernel.TSC() // what was priced since the pass began took time
	var sum float64
	for _, slot := range m.b.slots {
		_, known := m.seen[slot]
		grown := m.growth(slot, c, since)
		switch sh := m.b.shares[slot]; {
		case !m.sure(slot):
			m.more += grown
			continue
		case m.Plan.Thread != "" && sh.After && known:
			m.less += grown
		}
		sum += grown
	}
	m.keys.read(m, since)
	return sum
}

// sure reports whether the focus selects the thread whose growth a block holds.
func (m *Meter) sure(slot int) bool {
	return m.Plan.Thread == "" || m.b.shares[slot].Sure(m.Plan.Thread)
}

// covered reports whether the focus selects a thread of whose growth a block holds some, or may.
func (m *Meter) covered(slot int) bool {
	return m.Plan.Thread == "" || m.b.shares[slot].Covers(m.Plan.Thread)
}

// Doubt is how much more than its value may be a thread's own, how much of its value may be of others, both in the metric's unit, and whether a
// gauge went on with what another thread had left.
func (m *Meter) Doubt() (more, less float64, handed bool) { return m.more, m.less, m.gauge.handed }

// IsScarce reports whether others may wait for what the meter holds: a process has few distributions and tables.
func (m *Meter) IsScarce() bool { return m.Buckets != 0 || m.Table != 0 }

// CheckSyscalls refuses probes that make system calls in a target that is under a filter, or on a kernel without the call.
func (m *Meter) CheckSyscalls() error {
	what := m.AsksKernel()
	m.asks = what != ""
	return MayAsk(m.t, what)
}

// AsksForFiles reports whether the probes ask what descriptors stand for.
func (m *Meter) AsksForFiles() bool { return m.o.Files }

// MakesSyscalls reports whether the probes make system calls, as CheckSyscalls has found.
func (m *Meter) MakesSyscalls() bool { return m.asks }

// Halt clears what is switched on in the blocks of all threads: the code that would have switched it off is gone.
func (m *Meter) Halt() {
	for _, slot := range m.t.Seg.Used(nil) {
		m.Silence(slot)
	}
}

// Silence clears what a thread that has ended has left switched on in its block, before that gets another owner.
func (m *Meter) Silence(slot int) {
	for i, c := range m.Cells {
		switch {
		case c.Kind.Holds():
			m.gauge.forget(m, slot)
		case c.Kind != pcl.Counter:
			m.t.Seg.Store(slot, c.Off+trampoline.TimerActive, 0)
		case i > 0:
			m.t.Seg.Store(slot, c.Off, 0) // flags; the first variable is what is measured
		}
	}
}
