package replay

import (
	"math"
	"slices"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// Now is the time since it began, in s; it does not go beyond the end of the recording.
func (d *Daemon) Now() float64 { return min(time.Since(d.began).Seconds(), d.rec.seconds) }

// Ended is closed at the end of the recording.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// Tree has the resources that there were at this time.
func (d *Daemon) Tree() *grid.Tree { return d.tree }

// ListCode does nothing: what was listed comes when it came.
func (d *Daemon) ListCode() {}

// ListLoops names the loops of a function if somebody asked for them.
func (d *Daemon) ListLoops(module, function string) ([]string, error) {
	names, ok := d.rec.loops[wire.ListLoops{Module: module, Function: function}]
	if !ok {
		return nil, grid.ErrUnsupported{What: "the loops of " + module + "/" + function, Needs: "a recording in which they were listed"}
	}
	return names, nil
}

// Refinements implements grid.Axis.
func (d *Daemon) Refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	to, _ := at(d.rec.steps[question{f, h}], d.Now())
	return slices.Clone(to)
}

// Weight implements grid.Axis.
func (d *Daemon) Weight(f grid.Focus, kind string) float64 {
	i := slices.Index(wire.WeightKinds[:], kind)
	w, ok := at(d.rec.weights[f], d.Now())
	if i < 0 || !ok {
		return 0
	}
	return w[i]
}

func (d *Daemon) status() wire.Status {
	s, _ := at(d.rec.status, d.Now())
	return s
}

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.status().Observed }

// Costs implements grid.Instrumenter.
func (d *Daemon) Costs() map[grid.PairKey]float64 {
	costs := map[grid.PairKey]float64{}
	for _, c := range d.status().Costs {
		if k, ok := d.rec.keys[c.ID]; ok {
			costs[k] = c.Cost
		}
	}
	return costs
}

// Stood is for how long each target was stopped up to now, in s.
func (d *Daemon) Stood() float64 { return d.status().Stood }

// Spare is +Inf: what is recorded costs nobody anything.
func (d *Daemon) Spare() float64 { return math.Inf(1) }

// Targets lists what was measured at this time.
func (d *Daemon) Targets() []grid.TargetInfo {
	list, _ := at(d.rec.targets, d.Now())
	list = slices.Clone(list)
	for i := range list {
		if !list[i].Ended {
			list[i].To = d.Now()
		}
	}
	return list
}

// Source is where the function of a focus is written, if somebody asked for it.
func (d *Daemon) Source(f grid.Focus) (file string, line int) {
	s := d.rec.sources[f]
	return s.File, s.Line
}

// Uncertainty is the standard error of the average of a pair, as it was last.
func (d *Daemon) Uncertainty(key grid.PairKey) (float64, bool) {
	n := d.rec.pairNotes[key]
	return n.Error, n.HasError
}

// Notes are what was said of a pair last.
func (d *Daemon) Notes(key grid.PairKey) string { return d.rec.pairNotes[key].Notes }

// Unsure is why nothing could be concluded from a pair.
func (d *Daemon) Unsure(key grid.PairKey) string { return d.rec.pairNotes[key].Unsure }

// Placed is in how many places a pair had probes when it was last asked.
func (d *Daemon) Placed(key grid.PairKey) (int, bool) {
	n := d.rec.pairNotes[key]
	return n.Places, n.Probed
}

// Unseen is what of a metric could not be seen.
func (d *Daemon) Unseen(metric string) string { return d.rec.unseen[metric] }

// Holders are who had a lock.
func (d *Daemon) Holders(f grid.Focus) []grid.Holder { return slices.Clone(d.rec.holders[f]) }

// Idle is where threads had nothing to do when it was last asked.
func (d *Daemon) Idle() grid.Idle { return d.rec.idle }

// SeenMost is not recorded by function: nothing is known.
func (d *Daemon) SeenMost([]string, ...int) string { return "" }

// Overhead is what the recorded session cost in all.
func (d *Daemon) Overhead() grid.Overhead { return d.rec.account.Overhead }

// Probes are those of the recorded session.
func (d *Daemon) Probes() grid.Probes { return d.rec.account.Probes }

// UnmeasuredChildren is what children used that ended before they could be measured.
func (d *Daemon) UnmeasuredChildren() (used time.Duration, share float64) {
	return time.Duration(d.rec.account.UnmeasuredNS), d.rec.account.UnmeasuredShare
}
