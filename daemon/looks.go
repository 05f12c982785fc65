package daemon

import (
	"math/rand/v2"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/sampling"
	"culprit/daemon/schedule"
	"culprit/daemon/wakers"
)

// Looks at threads: what runs is sampled by perf, what is blocked is looked at in /proc, a few threads at a time in turn.

// The looks find out what threads do, running or blocked, and who ends their waits. mu of the state guards the fields.
type looks struct {
	*state
	beats     schedule.Beats
	rings     *kernel.Rings // of all targets; nil until the first needs them
	dropped   uint64        // samples of targets that somebody worked on
	wakings   wakers.Kernel
	wakers    wakers.Table
	fileLocks kernel.LockHolders
	looked    chan struct{} // after a round
}

// lookLoop looks at threads until the session ends.
func (lk *looks) lookLoop() {
	for {
		select {
		case <-lk.stopped:
			return
		case <-time.After(lk.untilLook()):
		}
		lk.mu.Lock()
		load := lk.load()
		due := lk.schedule.Begin(time.Now(), load, lk.beats)
		if due {
			lk.look(load)
		}
		lk.lookSampled(load)
		lk.mu.Unlock()
		if due {
			select {
			case lk.looked <- struct{}{}:
			default: // that round of following is still to come
			}
		}
	}
}

// untilLook is how long to wait for the next round.
func (lk *looks) untilLook() time.Duration {
	lk.mu.Lock()
	defer lk.mu.Unlock()
	return lk.schedule.Wait(time.Now(), lk.load(), rand.Float64())
}

// load is how much there is to look after. mu is held.
func (lk *looks) load() schedule.Load {
	l := schedule.Load{Targets: len(lk.targets), Threads: lk.session.Kernel.Threads(), Busy: lk.allowance.Busy(), Birth: time.Since(lk.watcher.LastBirth())}
	for _, t := range lk.targets {
		if t.Sampled() != nil && !t.Ended() {
			l.Sampled++
			l.Looked += t.Threads.Count()
		}
	}
	return l
}

// look is one round. mu is held.
func (lk *looks) look(load schedule.Load) {
	lk.common.Programs.Rest()
	lk.allowance.Update(time.Now())
	rest := lk.allowance.Overdrawn()
	for _, t := range lk.targets {
		if !t.Ended() && lk.schedule.Tends(t.Seat, load) && t.TryLock() {
			t.MakeRoom()
			t.Profile.Pace(lk.common.Clocks.Switches(), rest)
			t.Profile.Follow()
			t.Unlock()
		}
	}
	if lk.schedule.Spared() && lk.isStill() {
		return
	}
	if lk.schedule.Reads(time.Now()) {
		lk.readSamples()
	}
	now := lk.Now()
	lk.schedule.Look(load, func(i, left int) int {
		if t := lk.targets[i]; !t.Ended() && !t.Making() && t.Sampled() == nil && t.TryLock() {
			defer t.Unlock()
			return t.Profile.Look(now, left)
		}
		return 0
	})
}

// lookSampled is a round in the targets that are only looked at. mu is held.
func (lk *looks) lookSampled(load schedule.Load) {
	now := lk.Now()
	lk.schedule.LookSampled(load, func(i, left int) int {
		if t := lk.targets[i]; !t.Ended() && !t.Making() && t.Sampled() != nil && t.TryLock() {
			defer t.Unlock()
			return t.Profile.LookForReceiver(now, left)
		}
		return 0
	})
}

// readSamples hands the samples that perf has gathered to their targets. mu is held.
func (lk *looks) readSamples() {
	if lk.rings == nil {
		return
	}
	lk.rings.Read(func(s kernel.Sample) {
		if t := lk.byPID[s.PID]; t != nil && !t.Ended() && !t.TakeSample(&s) {
			lk.dropped++
		}
	})
}

// newSampler opens a sampler of a process, so many times a second, with the rings that all share: of everything that processors run, or
// where that is not permitted of the process's threads. It is nil with an error.
func (lk *looks) newSampler(pid, hz int) (sampling.Sampler, error) {
	if lk.rings == nil {
		rings, err := kernel.NewRings()
		if err != nil {
			return nil, kernel.ExplainSampling(pid, err)
		}
		lk.rings = rings
	}
	if s, err := lk.rings.ProcessSampler(pid, hz); err == nil {
		return s, nil
	}
	s, err := lk.rings.Sampler(pid, hz)
	if err != nil {
		return nil, err
	}
	return s, nil
}
