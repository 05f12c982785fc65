package daemon

import (
	"time"

	"culprit/daemon/kernel"
)

// Looks at threads: what runs is sampled by perf, what is blocked is looked at in /proc, a few threads at a time in turn. What that
// takes does not grow with the number of processes: with more of them each is looked at more rarely.

const (
	// looksPerRound bounds how many threads are looked at in one round, and looksOfMany how many where there are more than
	// lotsOfThreads: a look takes about 5 us, and the shares of time that they give are of longer spans then.
	looksPerRound = 48
	looksOfMany   = 32
	lotsOfThreads = 256
	// crowdedInterval is the time from one round to the next then.
	crowdedInterval = 4 * lookInterval
	// manyTargets is how many targets are looked after in each round; of more of them, each has its turn every turnRounds.
	manyTargets = 16
	turnRounds  = 8
	// readInterval is how often samples are read.
	readInterval = 4 * lookInterval
)

// looks is whose turn it is.
type looks struct {
	round    int
	loads    int // rounds of looking for new code
	next     int // the first target to look at
	read     time.Time
	switches float64 // how often a second threads are put on a processor, in all targets together
}

// lookLoop looks at threads, and for new processes, until the session ends.
func (d *Daemon) lookLoop() {
	interval := lookInterval
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-d.stopped:
			return
		case <-tick.C:
		}
		d.mu.Lock()
		d.look()
		wanted := d.roundInterval()
		d.mu.Unlock()
		if d.opts.Children {
			d.follow()
		}
		if wanted != interval {
			interval = wanted
			tick.Reset(interval)
		}
	}
}

// roundInterval is the time from one round to the next.
func (d *Daemon) roundInterval() time.Duration {
	if d.kern.Threads() > lotsOfThreads {
		return crowdedInterval
	}
	return lookInterval
}

// look is one round. d.mu is held.
func (d *Daemon) look() {
	l := &d.looks
	l.round++
	for i, t := range d.targets {
		if !t.ended && d.hasTurn(i, l.round) {
			d.makeRoom(t)
			t.profile.pace(l.switches)
			t.profile.follow()
		}
	}
	if now := time.Now(); now.Sub(l.read) >= readInterval-lookInterval/2 {
		l.read = now
		d.readSamples()
	}
	d.lookAround()
}

// hasTurn reports whether the i-th target is looked after in a round.
func (d *Daemon) hasTurn(i, round int) bool {
	return len(d.targets) <= manyTargets || (round+i)%turnRounds == 0
}

// lookAround looks at as many threads as there may be in a round, of one target after the other.
func (d *Daemon) lookAround() {
	l := &d.looks
	left := looksPerRound
	if d.kern.Threads() > lotsOfThreads {
		left = looksOfMany
	}
	now := d.Now()
	for range d.targets {
		if left <= 0 {
			return
		}
		l.next = (l.next + 1) % len(d.targets)
		if t := d.targets[l.next]; !t.ended {
			left -= t.profile.look(now, left)
		}
	}
}

// readSamples hands the samples that perf has gathered to their targets.
func (d *Daemon) readSamples() {
	if d.rings == nil {
		return
	}
	d.rings.Read(func(s kernel.Sample) {
		if t := d.byPID[s.PID]; t != nil && !t.ended {
			t.profile.take(&s)
		}
	})
}

// newSampler opens a sampler of a process with the rings that all share.
func (d *Daemon) newSampler(pid int) (*kernel.Sampler, error) {
	if d.rings == nil {
		rings, err := kernel.NewRings()
		if err != nil {
			return kernel.NewSampler(pid, sampleHz) // says why
		}
		d.rings = rings
	}
	return d.rings.Sampler(pid, sampleHz)
}

// countSwitches sums up over the targets, for the pace of the samples. d.mu is held.
func (d *Daemon) countSwitches() {
	d.looks.switches = 0
	for _, t := range d.targets {
		if !t.ended {
			d.looks.switches += t.threads.switches()
		}
	}
}

// mayHaveLoaded reports whether the target maps more or less than when it was last asked. Where one object was put in the place of
// another of the same size it does not: all mappings are looked at now and then, and before each change of the text.
func (t *target) mayHaveLoaded() bool {
	size, err := kernel.MemorySize(t.proc.PID())
	same := err == nil && size == t.size
	t.size = size
	return !same
}

// execRounds is in how many passes each of many targets is checked for an exec once; that one has ended is known at once.
const execRounds = 4

// checkExec is process.CheckExec, for many targets not with each pass.
func (d *Daemon) checkExec(t *target) error {
	if len(d.targets) > manyTargets && (d.round+t.seat)%execRounds != 0 {
		return nil
	}
	return t.proc.CheckExec()
}
