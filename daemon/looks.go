package daemon

import (
	"math/rand/v2"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/sampling"
	"culprit/daemon/schedule"
)

// Looks at threads: what runs is sampled by perf, what is blocked is looked at in /proc, a few threads at a time in turn.

// lookLoop looks at threads, and for new processes, until the session ends.
func (d *Daemon) lookLoop() {
	for {
		select {
		case <-d.stopped:
			return
		case <-time.After(d.untilLook()):
		}
		d.mu.Lock()
		load := d.load()
		due := d.schedule.Begin(time.Now(), load, d.beats)
		if due {
			d.look(load)
		}
		d.lookSampled(load)
		d.mu.Unlock()
		if due && d.opts.Children {
			d.follow()
		}
	}
}

// untilLook is how long to wait for the next round.
func (d *Daemon) untilLook() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.schedule.Wait(time.Now(), d.load(), rand.Float64())
}

// load is how much there is to look after. d.mu is held.
func (d *Daemon) load() schedule.Load {
	l := schedule.Load{Targets: len(d.targets), Threads: d.session.Kernel.Threads(), Busy: d.allowance.Busy(), Birth: time.Since(d.watcher.LastBirth())}
	for _, t := range d.targets {
		if t.sampled != nil && !t.ended {
			l.Sampled++
			l.Looked += t.Threads.Count()
		}
	}
	return l
}

// look is one round. d.mu is held.
func (d *Daemon) look(load schedule.Load) {
	d.programs.Rest()
	d.allowance.Update(time.Now())
	rest := d.allowance.Overdrawn()
	for _, t := range d.targets {
		if !t.ended && d.schedule.Tends(t.seat, load) {
			t.MakeRoom(t.silence)
			t.profile.Pace(d.clocks.Switches(), rest)
			t.profile.Follow()
		}
	}
	if d.schedule.Spared() && d.isStill() {
		return
	}
	if d.schedule.Reads(time.Now()) {
		d.readSamples()
	}
	now := d.Now()
	d.schedule.Look(load, func(i, left int) int {
		if t := d.targets[i]; !t.ended && t.sampled == nil {
			return t.profile.Look(now, left)
		}
		return 0
	})
}

// lookSampled is a round in the targets that are only looked at. d.mu is held.
func (d *Daemon) lookSampled(load schedule.Load) {
	now := d.Now()
	d.schedule.LookSampled(load, func(i, left int) int {
		if t := d.targets[i]; !t.ended && t.sampled != nil {
			return t.profile.LookForReceiver(now, left)
		}
		return 0
	})
}

// readSamples hands the samples that perf has gathered to their targets. d.mu is held.
func (d *Daemon) readSamples() {
	if d.rings == nil {
		return
	}
	d.rings.Read(func(s kernel.Sample) {
		if t := d.byPID[s.PID]; t != nil && !t.ended {
			t.profile.Take(&s)
		}
	})
}

// newSampler opens a sampler of a process, so many times a second, with the rings that all share: of everything that processors run, or
// where that is not permitted of the process's threads. It is nil with an error.
func (d *Daemon) newSampler(pid, hz int) (sampling.Sampler, error) {
	if d.rings == nil {
		rings, err := kernel.NewRings()
		if err != nil {
			return nil, kernel.ExplainSampling(pid, err)
		}
		d.rings = rings
	}
	if s, err := d.rings.ProcessSampler(pid, hz); err == nil {
		return s, nil
	}
	s, err := d.rings.Sampler(pid, hz)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// mayHaveLoaded reports whether the target maps more or less than when it was last asked. Where one object was put in the place of
// another of the same size it does not: all mappings are looked at now and then, and before each change of the text.
func (t *measured) mayHaveLoaded() bool {
	size, err := kernel.MemorySize(t.Proc.PID())
	same := err == nil && size == t.size
	t.size = size
	return !same
}

// checkExec asks whether a target still runs the program that it ran, as thoroughly as it is scheduled. d.mu is held.
func (d *Daemon) checkExec(t *measured) error {
	switch d.schedule.Check(t.seat, len(d.targets)) {
	case schedule.FullCheck:
		return t.Proc.CheckExec()
	case schedule.MemoryCheck:
		return t.Proc.CheckMemory()
	}
	return nil
}

// silence clears what a dead thread has left switched on in its block.
func (t *measured) silence(slot int) {
	for _, p := range t.d.parts(t) {
		if p.probes != nil {
			p.probes.Silence(slot)
		}
	}
}

// parts lists the parts in a target whose code may run.
func (d *Daemon) parts(t *measured) (list []*part) {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.t == t {
				list = append(list, pt)
			}
		}
	}
	for _, p := range d.lingering.Of(t) {
		list = append(list, p.(*part))
	}
	return list
}
