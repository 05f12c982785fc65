package daemon

import (
	"time"

	"culprit/daemon/threads"
	"culprit/grid"
)

// earlyLook is how long after an insertion it is looked at what the new probes take: some of them run much more often than was thought.
const earlyLook = 50 * time.Millisecond

// Costs implements grid.Instrumenter.
func (d *Daemon) Costs() map[grid.PairKey]float64 { return d.passes.costs.Told() }

// tellCosts tells what the pairs took when they were looked at last. mu is held.
func (ps *passes) tellCosts() {
	active := max(ps.sum((*threads.Table).Active), 1)
	told := map[grid.PairKey]float64{}
	for k, p := range ps.pairs {
		if c := min(p.cpus/active, 1); c >= grid.LeastCost {
			told[k] = c
		}
	}
	ps.costs.Tell(told)
}

// sum adds up what the threads of all targets do. mu is held.
func (ps *passes) sum(of func(*threads.Table) float64) (n float64) {
	for _, t := range ps.targets {
		n += of(t.Threads)
	}
	return n
}

// noteInserted has it looked soon what was inserted takes.
func (ps *passes) noteInserted() {
	select {
	case ps.inserted <- struct{}{}:
	default: // the last insertion has not been noted yet
	}
}

// lookEarly finds out what the probes of pairs took that no pass has read yet. Targets that somebody works on are left out.
func (ps *passes) lookEarly() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	h := ps.holdFree()
	defer h.release()
	now := ps.Now()
	for _, p := range ps.pairs {
		if p.last > p.since {
			continue
		}
		p.cpus = 0
		for _, pt := range p.parts {
			if h[pt.Process] && !pt.Process.Settled && !pt.Process.Detached {
				p.cpus += pt.PriceEarly(now)
			}
		}
	}
	ps.tellCosts()
}
