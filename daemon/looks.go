package daemon

import (
	"math/rand/v2"
	"time"

	"culprit/daemon/kernel"
)

// Looks at threads: what runs is sampled by perf, what is blocked is looked at in /proc, a few threads at a time in turn. What that
// takes does not grow with the number of processes: with more of them each is looked at more rarely.

const (
	// looksPerRound bounds how many threads are looked at in one round, and looksOfMany how many where there are more than
	// lotsOfThreads: a look takes 5 to 15 us, and the shares of time that they give are of longer spans then.
	looksPerRound = 48
	looksOfMany   = 20
	lotsOfThreads = 256
	// crowdedInterval is the time from one round to the next then.
	crowdedInterval = 4 * lookInterval
	// busyInterval is the same where the processors are busy: each time we wake up takes 100 us and more from somebody then, and who is
	// busy waits for little. For quickAfter after a target had a child rounds stay short, so that others are met early.
	busyInterval = 4 * lookInterval
	quickAfter   = 10 * time.Second
	// manyTargets is how many targets are looked after in each round; of more of them, each has its turn every turnRounds.
	manyTargets = 16
	turnRounds  = 8
	// readInterval is how often samples are read.
	readInterval = 4 * lookInterval
	// stillRounds is in how many rounds one is for threads and samples where nobody waits for their values.
	stillRounds = 4
)

// In targets that are only looked at, values come of the looks. Rounds of them have a time of their own.
const (
	// looksSampled bounds how many threads are looked at in one round.
	looksSampled = 20
	// lookSampled is the time from one round to the next in the mean, and lookMany where not all threads are looked at in each.
	lookSampled = 10 * time.Millisecond
	lookMany    = 30 * time.Millisecond
)

// looks is whose turn it is.
type looks struct {
	round    int
	loads    int // rounds of looking for new code
	next     int // the first target to look at
	sampled  int // the same of those that are only looked at
	due      time.Time
	read     time.Time
	switches float64 // how often a second threads are put on a processor, in all targets together
}

// lookLoop looks at threads, and for new processes, until the session ends.
func (d *Daemon) lookLoop() {
	for {
		select {
		case <-d.stopped:
			return
		case <-time.After(d.untilLook()):
		}
		now := time.Now()
		d.mu.Lock()
		interval := d.roundInterval()
		due := d.looks.isDue(now, interval, d.Beat(interval))
		if due {
			d.look()
		}
		d.lookSampled()
		d.mu.Unlock()
		if due && d.opts.Children {
			d.follow()
		}
	}
}

// isDue reports whether it is time for a round, and if it is, when the next one will be. A round that is late makes up for nothing: the
// next one is at the next beat.
func (l *looks) isDue(now time.Time, interval, beat time.Duration) bool {
	if now.Before(l.due) {
		return false
	}
	if l.due = l.due.Add(interval); l.due.Before(now) {
		l.due = now.Add(beat)
	}
	return true
}

// untilLook is how long to wait. Where values come of looks the length varies, so that a program with a rhythm is not always met at the
// same beat.
func (d *Daemon) untilLook() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	threads, any := 0, false
	for _, t := range d.targets {
		if t.sampled != nil && !t.ended {
			threads, any = threads+t.Threads.Count(), true
		}
	}
	mean := lookSampled
	switch {
	case !any:
		return time.Until(d.looks.due)
	case threads > looksSampled:
		mean = lookMany
	}
	return time.Duration(float64(mean) * (0.5 + rand.Float64()))
}

// roundInterval is the time from one round to the next. d.mu is held.
func (d *Daemon) roundInterval() time.Duration {
	switch {
	case d.session.Kernel.Threads() > lotsOfThreads:
		return crowdedInterval
	case d.allowance.Busy() && time.Since(d.watcher.LastBirth()) > quickAfter:
		return busyInterval
	}
	return lookInterval
}

// look is one round. d.mu is held.
func (d *Daemon) look() {
	l := &d.looks
	l.round++
	d.programs.Rest()
	d.allowance.Update(time.Now())
	rest := d.allowance.Overdrawn()
	for i, t := range d.targets {
		if !t.ended && d.hasTurn(i, l.round) {
			d.makeRoom(t)
			t.profile.pace(l.switches, rest)
			t.profile.follow()
		}
	}
	if l.round%stillRounds != 0 && d.isStill() {
		return
	}
	if now := time.Now(); now.Sub(l.read) >= readInterval-lookInterval/2 {
		l.read = now
		d.readSamples()
	}
	d.lookAround()
}

// hasTurn reports whether the i-th target is looked after in a round.
func (d *Daemon) hasTurn(i, round int) bool {
	return len(d.targets) <= manyTargets || inTurn(i, round)
}

func inTurn(i, round int) bool { return (round+i)%turnRounds == 0 }

// lookAround looks at as many threads as there may be in a round, of one target after the other.
func (d *Daemon) lookAround() {
	l := &d.looks
	left := looksPerRound
	if d.session.Kernel.Threads() > lotsOfThreads {
		left = looksOfMany
	}
	now := d.Now()
	for range d.targets {
		if left <= 0 {
			return
		}
		l.next = (l.next + 1) % len(d.targets)
		if t := d.targets[l.next]; !t.ended && t.sampled == nil {
			left -= t.profile.look(now, left)
		}
	}
}

// lookSampled is a round in the targets that are only looked at. d.mu is held.
func (d *Daemon) lookSampled() {
	l, left, now := &d.looks, looksSampled, d.Now()
	for range d.targets {
		if left <= 0 {
			return
		}
		l.sampled = (l.sampled + 1) % len(d.targets)
		if t := d.targets[l.sampled]; !t.ended && t.sampled != nil {
			left -= t.profile.lookAround(now, left)
		}
	}
}

// readSamples hands the samples that perf has gathered to their targets. d.mu is held.
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

// newSampler opens a sampler of a process, so many times a second, with the rings that all share: of everything that processors run, or
// where that is not permitted of the process's threads. It is nil with an error.
func (d *Daemon) newSampler(pid, hz int) (sampler, error) {
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

// countSwitches sums up over the targets, for the pace of the samples. d.mu is held.
func (d *Daemon) countSwitches() {
	d.looks.switches = 0
	for _, t := range d.targets {
		if !t.ended {
			d.looks.switches += t.Threads.Switches()
		}
	}
}

// mayHaveLoaded reports whether the target maps more or less than when it was last asked. Where one object was put in the place of
// another of the same size it does not: all mappings are looked at now and then, and before each change of the text.
func (t *measured) mayHaveLoaded() bool {
	size, err := kernel.MemorySize(t.Proc.PID())
	same := err == nil && size == t.size
	t.size = size
	return !same
}

// execRounds is in how many passes each target is checked for an exec of whatever kind once, execRoundsOfMany in how many where there are
// many; that one has ended is known at once.
const (
	execRounds       = 4
	execRoundsOfMany = 4 * execRounds
)

// checkExec is process.CheckExec, not with each pass, and what is cheaper in between; of many targets some are asked in each pass.
func (d *Daemon) checkExec(t *measured) error {
	turn, many := d.round+t.seat, len(d.targets) > manyTargets
	switch {
	case turn%execRounds != 0 && many:
		return nil
	case turn%execRounds != 0, turn%execRoundsOfMany != 0 && many:
		return t.Proc.CheckMemory()
	}
	return t.Proc.CheckExec()
}
