package session

import (
	"time"

	"culprit/consultant"
	"culprit/grid"
	"culprit/pcl"
)

// Daemon is what a session uses of a *daemon.Daemon.
type Daemon interface {
	grid.Instrumenter
	grid.Axis
	Tree() *grid.Tree
	ListCode()
	ListLoops(module, function string) (names []string, err error)
	Now() float64
	Source(f grid.Focus) (file string, line int)
	Targets() []grid.TargetInfo
	Ended() <-chan struct{}
	Uncertainty(key grid.PairKey) (float64, bool)
	Notes(key grid.PairKey) string
	Placed(key grid.PairKey) (places int, ok bool)
	Unseen(metric string) string
	Unsure(key grid.PairKey) string
	UnmeasuredChildren() (used time.Duration, share float64)
	Overhead() grid.Overhead
	Probes() grid.Probes
	SeenMost(functions []string, pids ...int) string
	Holders(f grid.Focus) []grid.Holder
	Spare() float64
	Stood() float64
	Beat(interval time.Duration) time.Duration
	Detach() (clean bool, err error)
}

// itemBase is the hierarchy of what the item of a focus stands for; Code if it is not known.
func itemBase(lib *pcl.Library, f grid.Focus) grid.Hierarchy {
	if it, err := lib.Item(f); err == nil && it != nil {
		return it.Base
	}
	return grid.Code
}

func newGrid(d Daemon, lib *pcl.Library) *grid.Grid { return grid.New(d, lib.Metric, d.Now) }

// newSearch prepares the search on what a daemon measures into a grid. Of cfg it uses the library, the budget (2 % if it is 0)
// and OnEvent.
func newSearch(cfg Config, d Daemon, g *grid.Grid) *consultant.Search {
	return consultant.New(consultant.Config{
		Hypotheses: cfg.Library.Hypotheses(), Grid: g, World: d, Budget: cfg.Budget, OnEvent: cfg.OnEvent,
		Base: func(item grid.Focus) grid.Hierarchy { return itemBase(cfg.Library, item) },
	})
}
