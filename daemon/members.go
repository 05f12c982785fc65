package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"culprit/daemon/attach"
	"culprit/daemon/descriptors"
	"culprit/daemon/measuring"
	"culprit/daemon/process"
	"culprit/daemon/syscalls"
	"culprit/daemon/threadstats"
	"culprit/daemon/tracerguard"
	"culprit/grid"
)

// The members attach to processes, and leave them.
type members struct {
	*state
	guard   *tracerguard.Guard
	sight   syscalls.Sight
	ended   chan struct{} // closed when all have ended
	endOnce sync.Once
	joins   bool // a process that the others have started is being attached to; enabling guards it

	// mu of the state guards these.
	seats    int // targets that there ever were
	departed departed
}

// prepare begins what a session with probes needs.
func (ms *members) prepare() {
	if ms.opts.Backend.Looks() {
		return
	}
	if ms.opts.Guard != nil {
		var err error
		if ms.guard, err = tracerguard.Start(ms.opts.Guard()); err != nil {
			ms.opts.Log(err.Error()) // rare, and it measures as well without
		}
	}
	ms.sight.Begin(ms.logf)
}

// attach begins to measure a process, in the way that the options name or that the process allows.
func (ms *members) attach(pid int) error { return ms.attachOr(pid, attach.MaySample) }

// attachPatiently is attach for a process that somebody has named. What cannot be stopped then is only looked at if the options leave that open.
func (ms *members) attachPatiently(ctx context.Context, pid int) error {
	err := attach.Patiently(ctx, pid, ms.attach)
	if !attach.Unstopped(err) || ctx.Err() != nil {
		return err
	}
	if ms.opts.Backend == grid.BackendAuto && ms.lookOnly(pid, err) == nil {
		return nil
	}
	return fmt.Errorf("%w; try again later, or measure by sampling: --backend sample", err)
}

// attachOr is attach where falls says of which errors a process is sampled instead, if the options let it.
func (ms *members) attachOr(pid int, falls func(error) bool) error {
	if ms.opts.Backend == grid.BackendEBPF {
		if err := ms.needsRows(); err != nil {
			return err
		}
	}
	if err := descriptors.RoomFor(pid, len(ms.targets) == 0); err != nil {
		return err
	}
	if ms.opts.Backend.Looks() {
		return ms.attachSampled(pid, "--backend "+ms.opts.Backend.String()+" was asked for")
	}
	err := attach.InTurn(pid, ms.attachProbed)
	if err == nil || ms.opts.Backend != grid.BackendAuto || !falls(err) {
		return err
	}
	return ms.lookOnly(pid, err)
}

// lookOnly begins to look at a process that cannot be patched because of err, which is returned if that is not possible either: what would
// have to change for probes is the better answer.
func (ms *members) lookOnly(pid int, err error) error {
	why := attach.Why(err)
	if ms.attachSampled(pid, why) != nil {
		return err
	}
	ms.logf("process %d is measured by stack samples only, since it cannot be patched: %s", pid, why)
	return nil
}

// attachSampled begins to look at a process. why says for what reason it is not patched.
func (ms *members) attachSampled(pid int, why string) error {
	t, err := measuring.Open(ms.common, pid, process.Look)
	if err != nil {
		return err
	}
	t.SampleToo(why)
	ms.admit(t)
	if t.Proc.Blind() {
		ms.logf("%s: what its threads wait in cannot be seen: that takes the right to trace it", t.Name)
	}
	return nil
}

// admit makes an opened process a target. enabling is held, if there may be others already.
func (ms *members) admit(t *measuring.Process) {
	ms.mu.Lock()
	t.BeginProfile()
	t.Threads.Refresh(0, t.Stops.Count())
	ms.mu.Unlock()
	ms.session.Tree.Add(grid.Process, t.Name)
	t.Files.Look(ms.Now())
	t.ReadTimes()
	t.FindRank()
	t.Facts()
	ms.mu.Lock()
	defer ms.mu.Unlock()
	t.JoinedAt, t.Joining = ms.Now(), ms.joins
	ms.seats++
	t.Seat = ms.seats
	ms.targets = append(ms.targets[:len(ms.targets):len(ms.targets)], t)
	ms.byPID[t.Proc.PID()] = t
}

// infoOf describes a target. mu is held.
func (ms *members) infoOf(t *measuring.Process) grid.TargetInfo {
	to := t.EndedAt
	if !t.Ended() {
		to = ms.Now()
	}
	info := t.Facts().Info
	info.From, info.To, info.Host, info.Threads, info.Ended, info.Became = t.JoinedAt, to, ms.session.Host, t.Threads.Count(), t.Ended(), t.Execed
	return info
}

// attachProbed opens a process, maps the segment into it and learns its threads.
func (ms *members) attachProbed(pid int) error {
	if err := attach.Owned(pid); err != nil {
		return err
	}
	t, err := measuring.Open(ms.common, pid, func(pid int) (*process.Process, error) { return process.OpenFor(pid, ms.guard) })
	if err != nil {
		return err
	}
	ms.sight.Begin(ms.logf)
	ms.sight.Show(syscalls.Watcher{
		Deadlines: func(l *syscalls.Deadlines) { t.Proc.KnowDeadlines(l) },
		Transfers: func(l *syscalls.Transfers) { t.Proc.KnowTransfers(l) },
		Modes:     func(m *syscalls.Modes) { t.Proc.KnowModes(m) },
	}, ms.goLoop)
	if err := t.MapSegment(); err != nil {
		t.Close()
		return err
	}
	t.SampleUnprobed()
	if t.Contexts.Suspected() { // else before the first point is planned, when tables have been read
		t.Contexts.LookFirst()
	}
	ms.admit(t)
	return nil
}

// needsRows is the answer to whoever asked for per-thread statistics where the kernel keeps none.
func (ms *members) needsRows() error {
	err := ms.common.Programs.Open()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, threadstats.ErrNotPermitted):
		return grid.ErrNotPermitted{What: "--backend ebpf", Help: err.Error()}
	}
	return grid.ErrUnsupported{What: "--backend ebpf", Needs: err.Error()}
}
