package daemon

import (
	"context"
	"fmt"

	"culprit/daemon/attach"
	"culprit/daemon/descriptors"
	"culprit/daemon/process"
	"culprit/grid"
)

// attach begins to measure a process, in the way that the options name or that the process allows.
func (d *Daemon) attach(pid int) error { return d.attachOr(pid, attach.MaySample) }

// attachPatiently is attach for a process that somebody has named. What cannot be stopped then is only looked at if the options leave that open.
func (d *Daemon) attachPatiently(ctx context.Context, pid int) error {
	err := attach.Patiently(ctx, pid, d.attach)
	if !attach.Unstopped(err) || ctx.Err() != nil {
		return err
	}
	if d.opts.Backend == grid.BackendAuto && d.lookOnly(pid, err) == nil {
		return nil
	}
	return fmt.Errorf("%w; try again later, or measure by sampling: --backend sample", err)
}

// attachOr is attach where falls says of which errors a process is sampled instead, if the options let it.
func (d *Daemon) attachOr(pid int, falls func(error) bool) error {
	if d.opts.Backend == grid.BackendEBPF {
		if err := d.needsRows(); err != nil {
			return err
		}
	}
	if err := descriptors.RoomFor(pid, len(d.targets) == 0); err != nil {
		return err
	}
	if d.opts.Backend.Looks() {
		return d.attachSampled(pid, "--backend "+d.opts.Backend.String()+" was asked for")
	}
	err := attach.InTurn(pid, d.attachProbed)
	if err == nil || d.opts.Backend != grid.BackendAuto || !falls(err) {
		return err
	}
	return d.lookOnly(pid, err)
}

// lookOnly begins to look at a process that cannot be patched because of err, which is returned if that is not possible either: what would
// have to change for probes is the better answer.
func (d *Daemon) lookOnly(pid int, err error) error {
	why := attach.Why(err)
	if d.attachSampled(pid, why) != nil {
		return err
	}
	d.logf("process %d is measured by stack samples only, since it cannot be patched: %s", pid, why)
	return nil
}

// attachSampled begins to look at a process. why says for what reason it is not patched.
func (d *Daemon) attachSampled(pid int, why string) error {
	t, err := openTarget(d, pid, process.Look)
	if err != nil {
		return err
	}
	t.sampleToo(why)
	d.admit(t)
	if t.Proc.Blind() {
		d.logf("%s: what its threads wait in cannot be seen: that takes the right to trace it", t.Name)
	}
	return nil
}

// admit makes an opened process a target.
func (d *Daemon) admit(t *measured) {
	t.beginProfile(d.newSampler)
	d.session.Tree.Add(grid.Process, t.Name)
	t.Threads.Refresh(0, t.Stops.Count())
	t.Files.Look(d.Now())
	t.readTimes()
	t.joinedAt = d.Now()
	d.targets = append(d.targets, t)
	d.byPID[t.Proc.PID()] = t
	t.FindRank()
	d.seats++
	t.seat = d.seats
}

// needsProbes refuses what only trampolines can tell.
func (t *measured) needsProbes(what string) error {
	if !t.onlyLooked() {
		return nil
	}
	return grid.ErrUnsupported{What: what + " of " + t.Name, Needs: "probes, and it is measured by stack samples (" + t.whySampled + ")"}
}

func (t *measured) backend() grid.Backend {
	switch {
	case !t.onlyLooked():
		return grid.BackendProbe
	case t.d.opts.Backend == grid.BackendEBPF:
		return grid.BackendEBPF
	}
	return grid.BackendSample
}

func (t *measured) whyLooking() string {
	if t.onlyLooked() {
		return t.whySampled
	}
	return ""
}

// coarser is the tier that limits what can be said of several parts together.
func coarser(a, b grid.Tier) grid.Tier {
	for _, t := range []grid.Tier{grid.TierSample, grid.TierProbe} {
		if a == t || b == t {
			return t
		}
	}
	return b
}
