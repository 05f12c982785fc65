package session

import (
	"culprit/consultant"
	"culprit/consultant/prior"
	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
)

// itemBase is the hierarchy of what the item of a focus stands for; Code if it is not known.
func itemBase(lib *pcl.Library, f grid.Focus) grid.Hierarchy {
	if it, err := lib.Item(f); err == nil && it != nil {
		return it.Base
	}
	return grid.Code
}

func newGrid(d serve.Daemon, lib *pcl.Library) *grid.Grid { return grid.New(d, lib.Metric, d.Now) }

// newSearch prepares the search on what a daemon measures into a grid. Of cfg it uses the library, the budget (2 % if it is 0)
// and OnEvent.
func newSearch(cfg Config, d serve.Daemon, g *grid.Grid, p *prior.Prior) *consultant.Search {
	return consultant.New(consultant.Config{
		Hypotheses: cfg.Library.Hypotheses(), Grid: g, World: world{d}, Prior: p, Budget: cfg.Budget, OnEvent: cfg.OnEvent, LeastStake: func() float64 { v, _ := cfg.Library.Tunable(report.LeastStake); return v },
		Base: func(item grid.Focus) grid.Hierarchy { return itemBase(cfg.Library, item) },
	})
}

// A world is what a search knows of the program.
type world struct{ serve.Daemon }

// Halted tells that all targets that live are stopped by a signal, or frozen.
func (w world) Halted() bool {
	halted := false
	for _, t := range w.Targets() {
		switch {
		case t.Ended:
		case !t.Stopped && t.Frozen == "":
			return false
		default:
			halted = true
		}
	}
	return halted
}
