package daemon

import (
	"os"
	"time"

	"culprit/daemon/clocks"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/measuring"
	"culprit/daemon/openfiles"
	"culprit/daemon/target"
)

// newCommon is what the targets share. mu is held when it asks the daemon.
func (d *Daemon) newCommon() *measuring.Common {
	c := &measuring.Common{Session: d.session, Backend: d.opts.Backend, Own: d.own(), Sampler: d.looks.newSampler, Wakers: d.looks.wakersOf, Unfed: d.looks.unfed}
	c.Dear.Budget, c.Dear.Logf = d.opts.Budget, d.logf
	c.Files = openfiles.NewHost(d.session.Tree)
	c.Programs.RunsLong, c.Programs.Logf = d.runsLong, d.logf
	c.Clocks = clocks.New(clocks.Config{Targets: d.eachTarget, Allowance: &d.allowance, Prices: &c.Prices, Programs: &c.Programs})
	d.looks.wakers.Source, d.looks.wakers.Self = &d.looks.wakings, os.Getpid()
	return c
}

// own is what the daemon knows of its own work. mu is held when it is asked.
func (d *Daemon) own() *kernelmeter.Own {
	return &kernelmeter.Own{
		ObservedCost:  d.passes.observed.Lately,
		PredictedCost: d.passes.predicted,
		Dropped: func(t *target.Target) (uint64, bool) {
			if d.looks.rings == nil {
				return 0, false
			}
			return d.looks.rings.Lost() + d.looks.dropped, d.isFirst(t)
		},
		Unmeasured: func(t *target.Target) (time.Duration, bool) {
			return d.times.unmeasured, d.opts.Children && d.isFirst(t)
		},
	}
}
