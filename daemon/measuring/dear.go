package measuring

import (
	"cmp"
	"sync"

	"culprit/grid"
	"culprit/pcl"
)

// Dear are the pairs about the whole program whose probes would take more of its time than they may, as of locks that are taken millions of times a
// second. What threads wait is seen by looking at those that wait as well, at next to no cost. The zero value has none.
type Dear struct {
	Budget float64 // share of the program's time that probes may take; 0.02 if 0
	Logf   func(format string, args ...any)

	mu    sync.Mutex
	pairs map[grid.PairKey]bool
}

// defaultBudget is the budget where none is given.
const defaultBudget = 0.02

// Has reports whether a pair is one of them.
func (d *Dear) Has(key grid.PairKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pairs[key]
}

// Price is what a pair takes whose probes would take the price given: nothing, from now on, if that is more than they may take and looks tell it.
func (d *Dear) Price(key grid.PairKey, probes grid.Price, told bool) grid.Price {
	if !told || probes.Fraction+probes.Shared <= cmp.Or(d.Budget, defaultBudget) {
		return probes
	}
	d.Logf("probes for %v would take %.0f %% of the program's time: it is sampled instead", key, 100*probes.Fraction)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pairs == nil {
		d.pairs = map[grid.PairKey]bool{}
	}
	d.pairs[key] = true
	return grid.Price{}
}

// TellsWaits reports whether looks at threads that wait tell a plan of probes: a timer of waits for the whole program.
func (t *Process) TellsWaits(plan *pcl.Plan) bool {
	return plan.Pair.Focus.IsWhole() && t.timesWaits(plan)
}

// timesWaits reports whether looks tell a plan of probes as a timer of waits, wherever it is.
func (t *Process) timesWaits(plan *pcl.Plan) bool {
	timer := plan.Kind == pcl.WallTimer && plan.ExcludeParked && plan.Samples == "" && !plan.KeptByKernel()
	return timer && !t.OnlyLooked() && t.looksAtWaits().Tells(plan) == nil
}

// LooksAtWaits reports whether looks at threads that wait are to tell a pair, whose plan is one of probes: those would be too dear, or it is about
// connections that are too short for them.
func (t *Process) LooksAtWaits(key grid.PairKey, plan *pcl.Plan) bool {
	if t.Common.Dear.Has(key) && t.TellsWaits(plan) {
		return true
	}
	if e := key.Focus.Elements(grid.IO); len(e) == 0 || t.OnlyLooked() || !t.Files.IsBrief(e, t.Now()) {
		return false
	}
	looked, _, err := t.looksAtWaits().Compile(key)
	return err == nil && t.timesWaits(looked)
}
