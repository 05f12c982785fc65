package cost

import (
	"errors"
	"fmt"

	"culprit/daemon/probe"
	"culprit/daemon/trial"
	"culprit/pcl"
	"culprit/trampoline"
)

// A trialCells hands out the words of the block in which probes are tried.
type trialCells struct{ next int32 }

// Alloc leaves as much room as the largest timer takes.
func (m *trialCells) Alloc(n int32) (int32, error) {
	if n == trampoline.GaugeSize {
		m.next = (m.next + n - 1) &^ (n - 1)
	}
	if m.next+n > trial.EndCell {
		return 0, errors.New("too many variables to be tried")
	}
	off := m.next
	m.next += max(trampoline.RunTimerSize, n)
	return off, nil
}

func (m *trialCells) AllocBuckets() (int32, error) { return m.Alloc(trampoline.BucketsSize) }
func (m *trialCells) AllocTable() (int32, error)   { return m.Alloc(trampoline.TableSize) }

// trialKey is the key of all objects in a trial: most threads use few.
func trialKey(key *trampoline.Expr, _ pcl.FuncID) *trampoline.Expr {
	return &trampoline.Expr{Op: trampoline.ExOr, L: key, R: &trampoline.Expr{Value: 1}}
}

// trialOf makes the probes of requests for a trial: in cells of its own, with flags that let them run.
func trialOf(plan *pcl.Plan, kinds []kindOf, stats bool) (c trial.Case, err error) {
	l := probe.NewLayout(plan, stats)
	l.KeyOf = trialKey
	table := probe.Without
	if plan.By != 0 {
		table = probe.Needed
	}
	if err := l.Reserve(&trialCells{next: trial.FirstCell}, table, false); err != nil {
		return c, fmt.Errorf("metric %q: %w", plan.Pair.Metric, err)
	}
	c = trial.Case{Minis: map[trial.Place][]trampoline.Mini{}, Words: map[int32]uint64{}}
	for _, k := range kinds {
		minis, err := l.Code(k.request)
		if err != nil {
			return c, err
		}
		at := placeOf(k.request)
		if k.request.Prepend {
			c.Minis[at] = append(minis, c.Minis[at]...)
		} else {
			c.Minis[at] = append(c.Minis[at], minis...)
		}
		for _, g := range k.request.Guards {
			c.Words[l.Cells[g].Off] = 1 << 62 // above every stack
		}
	}
	return c, nil
}

func placeOf(r *pcl.Request) trial.Place {
	switch {
	case r.Where == pcl.Entry && !r.Post:
		return trial.Entry
	case r.Where == pcl.Return:
		return trial.Return
	case r.Where == pcl.Call && !r.Post:
		return trial.Call
	case r.Where == pcl.Call:
		return trial.Called
	}
	return trial.Inside
}
