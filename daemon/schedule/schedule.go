package schedule

import "time"

// ShortestRound is how often blocked threads of probed targets are looked at where nothing stands against it.
const ShortestRound = 25 * time.Millisecond

const (
	// manyThreads is for how many threads of all targets rounds are longer, and looks fewer.
	manyThreads = 256
	// longRound is the time from one round to the next then, and where no CPU is idle: each time we wake up takes 100 us and more from somebody
	// then, and who is busy waits for little. For quickAfter after a target had a child rounds stay short, so that others are met early.
	longRound  = 4 * ShortestRound
	quickAfter = 10 * time.Second
	// looks bounds how many threads are looked at in one round, looksOfMany where there are many: a look takes 5 to 15 us, and the shares of
	// time that looks give are of longer spans then.
	looks       = 48
	looksOfMany = 20
	// readInterval is how often samples are read.
	readInterval = 4 * ShortestRound
	// StillRounds is in how many rounds one is for threads and samples where nobody waits for their values.
	StillRounds = 4
)

// In targets that are only sampled, values come of the looks. Rounds of them have a time of their own.
const (
	// looksSampled bounds how many threads are looked at in one round.
	looksSampled = 20
	// sampledRound is the time from one round to the next in the mean, longSampledRound where not all threads are looked at in each.
	sampledRound     = 10 * time.Millisecond
	longSampledRound = 30 * time.Millisecond
)

// ManyTargets is how many targets have a turn in each round; of more of them, each has one in turnRounds.
const (
	ManyTargets = 16
	turnRounds  = 8
)

// In how many passes each target is checked once for an exec of whatever kind, and where there are many targets. That one has ended is known at once.
const (
	execPasses       = 4
	execPassesOfMany = 4 * execPasses
)

// A Load is how much there is to look after.
type Load struct {
	Targets int
	Threads int           // of all targets
	Sampled int           // targets that are only sampled
	Looked  int           // threads of those
	Busy    bool          // no CPU is idle
	Birth   time.Duration // since a target had a child
}

func (l Load) many() bool { return l.Targets > ManyTargets }

// round is the time from one round to the next.
func (l Load) round() time.Duration {
	if l.Threads > manyThreads || l.Busy && l.Birth > quickAfter {
		return longRound
	}
	return ShortestRound
}

// A Schedule knows whose turn it is. The zero value is ready.
type Schedule struct {
	round, pass, search int
	due                 time.Time // of the next round
	read                time.Time // when samples were read
	probed, sampled     ring
}

// Wait is how long to wait for the next round. Where values come of looks the length varies with chance, from 0 to below 1, so that a program with
// a rhythm is not always met at the same beat.
func (s *Schedule) Wait(now time.Time, l Load, chance float64) time.Duration {
	mean := sampledRound
	switch {
	case l.Sampled == 0:
		return s.due.Sub(now)
	case l.Looked > looksSampled:
		mean = longSampledRound
	}
	return time.Duration(float64(mean) * (0.5 + chance))
}

// Begin begins a round if it is time for one. A round that is late makes up for nothing: the next one is at the next beat.
func (s *Schedule) Begin(now time.Time, l Load, b Beats) bool {
	if now.Before(s.due) {
		return false
	}
	if s.due = s.due.Add(l.round()); s.due.Before(now) {
		s.due = now.Add(b.Next(now, l.round()))
	}
	s.round++
	return true
}

// Tends tells whether a target is looked after in this round. A seat is its place in the order of attaching.
func (s *Schedule) Tends(seat int, l Load) bool {
	return !l.many() || inTurn(seat, s.round, turnRounds)
}

// Spared tells whether threads and samples are left out of this round if nobody waits for their values.
func (s *Schedule) Spared() bool { return s.round%StillRounds != 0 }

// Reads tells whether it is time to read samples, and takes them for read.
func (s *Schedule) Reads(now time.Time) bool {
	if now.Sub(s.read) < readInterval-ShortestRound/2 {
		return false
	}
	s.read = now
	return true
}

// Look goes round probed targets, from where it ended in the last round, until as many threads were looked at as may be: look takes the index of a
// target and how many are left, and returns how many it looked at.
func (s *Schedule) Look(l Load, look func(i, left int) int) {
	most := looks
	if l.Threads > manyThreads {
		most = looksOfMany
	}
	s.probed.walk(l.Targets, most, look)
}

// BetweenLooks is the time between two looks at one of so many threads of targets that are only sampled, in the mean.
func BetweenLooks(threads int) time.Duration {
	return time.Duration(float64(sampledRound) * max(float64(threads)/looksSampled, 1))
}

// LookSampled is Look for targets that are only sampled.
func (s *Schedule) LookSampled(l Load, look func(i, left int) int) {
	s.sampled.walk(l.Targets, looksSampled, look)
}

// BeginSearch begins a search for new code and files in all targets.
func (s *Schedule) BeginSearch() { s.search++ }

// Searches tells whether a target has its turn in this search: where CPUs are busy it has one in turnRounds, however few there are.
func (s *Schedule) Searches(seat, targets int, busy bool) bool {
	return targets <= ManyTargets && !busy || inTurn(seat, s.search, turnRounds)
}

// BeginPass begins a pass over all values.
func (s *Schedule) BeginPass() { s.pass++ }

// A Check is how thoroughly a target is asked whether it still runs the program that it ran.
type Check int

// The checks, from the cheapest on.
const (
	NoCheck     Check = iota
	MemoryCheck       // by its memory
	FullCheck         // for an exec of whatever kind
)

// Check tells how a target is checked in this pass.
func (s *Schedule) Check(seat, targets int) Check {
	often, full := 1, execPasses
	if targets > ManyTargets {
		often, full = execPasses, execPassesOfMany
	}
	switch {
	case inTurn(seat, s.pass, full):
		return FullCheck
	case inTurn(seat, s.pass, often):
		return MemoryCheck
	}
	return NoCheck
}

// inTurn tells whether a target has its one turn of so many rounds.
func inTurn(seat, round, every int) bool { return (round+seat)%every == 0 }

// A ring goes round things, and from where it ended the next time.
type ring struct{ last int }

// walk visits each of n things once at most, until as much was done as may be. visit takes what is left and returns what it did.
func (r *ring) walk(n, most int, visit func(i, left int) int) {
	for range n {
		if most <= 0 {
			return
		}
		r.last = (r.last + 1) % n
		most -= visit(r.last, most)
	}
}

// Beats come with an interval, all from one time on. Who wakes up regularly does so at a beat, together with the rest: each wake-up of a program
// that sleeps costs 100 to 200 us of CPU time, the scheduler's and that of its own runtime, which looks around for a while afterwards.
type Beats struct{ first time.Time }

// BeatsFrom are beats of which the first is at a time.
func BeatsFrom(first time.Time) Beats { return Beats{first} }

// Next is the time until the next of the beats that come with an interval, more than 0.
func (b Beats) Next(now time.Time, interval time.Duration) time.Duration {
	return interval - now.Sub(b.first)%interval
}
