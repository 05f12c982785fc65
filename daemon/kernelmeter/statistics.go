package kernelmeter

import (
	"fmt"

	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/pcl"
)

// Statistic is the per-thread statistic that a plan names.
func Statistic(plan *pcl.Plan) (threadstats.Quantity, error) {
	q, ok := threadstats.ByName(plan.KernelName)
	if !ok {
		return q, fmt.Errorf("metric %q: the kernel keeps no quantity %q for the parts of a program", plan.Pair.Metric, plan.KernelName)
	}
	return q, nil
}

// sampleStatistics is the growth of a quantity over all threads that the focus covers.
func (m *Meter) sampleStatistics(q threadstats.Quantity) (sum float64) {
	for now := range m.s.Stats.Rows(q) {
		last := m.seen[now.Index]
		known := last.ThreadPointer == now.ThreadPointer && last.Life == now.Life
		if !known {
			last.Value = 0 // a new thread, whose row begins with 0
		}
		grown := float64(max(now.Value, last.Value) - last.Value)
		if (known || m.begun) && grown > 0 && m.covers(now) {
			sum += grown
		}
		now.Value = max(now.Value, last.Value)
		m.seen[now.Index] = now
	}
	m.begun = true
	if q.Nanoseconds() {
		sum /= 1e9
	}
	return sum
}

// covers reports whether the focus selects the thread of a row; a pair without thread or process focus covers all, dead ones too.
func (m *Meter) covers(r targetstats.Row) bool {
	if m.plan.Thread == "" {
		return true
	}
	tid := m.s.Stats.Owner(r)
	return tid != 0 && m.s.Threads.Is(tid, m.plan.Thread)
}
