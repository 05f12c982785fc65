package measuring

import (
	"culprit/daemon/clocks"
	"culprit/daemon/cost"
	"culprit/daemon/kernel"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/openfiles"
	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/grid"
)

// A Common is what the processes of a session share. Its fields do not change once a process was opened.
type Common struct {
	*target.Session
	Images   program.Files
	Files    *openfiles.Host
	Programs targetstats.Programs // that keep per-thread statistics
	Prices   cost.Executions
	Clocks   *clocks.Choice
	Refusals Refusals
	Dear     Dear
	Backend  grid.Backend     // that was asked for
	Own      *kernelmeter.Own // what the daemon knows of its own work
	// Sampler opens a sampler of a process, so many times a second; nil with an error.
	Sampler func(pid, hz int) (sampling.Sampler, error)
	// Wakers is who ends the waits of a thread of a process in a call, at a session time.
	Wakers func(t *Process, tid int, call kernel.BlockedCall, now float64) []sampling.Waker
	// Unfed is what part of the waits of a thread in a call nobody ends but time, or threads that have nothing to do themselves.
	Unfed func(tid int, call kernel.BlockedCall, now float64) (share float64, ok bool)
}
