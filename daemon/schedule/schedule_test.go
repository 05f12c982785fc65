package schedule

import (
	"slices"
	"testing"
	"time"
)

var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// rounds turns a clock by steps and tells when rounds began, until some time has passed.
func rounds(s *Schedule, l Load, b Beats, step, span time.Duration) (at []time.Duration) {
	for t := time.Duration(0); t < span; t += step {
		if s.Begin(begin.Add(t), l, b) {
			at = append(at, t)
		}
	}
	return at
}

// TestRounds: rounds come as often as the load allows.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		name string
		load Load
		want time.Duration
	}{
		{"a little", Load{Targets: 1, Threads: 4}, ShortestRound},
		{"many threads", Load{Targets: 1, Threads: manyThreads + 1}, longRound},
		{"busy CPUs", Load{Targets: 1, Busy: true, Birth: time.Hour}, longRound},
		{"busy CPUs and a child", Load{Targets: 1, Busy: true, Birth: time.Second}, ShortestRound},
		{"a child long ago", Load{Targets: 1, Birth: time.Hour}, ShortestRound},
	} {
		s := Schedule{due: begin}
		at := rounds(&s, c.load, BeatsFrom(begin), time.Millisecond, 2*time.Second)
		for i := range at[1:] {
			if got := at[i+1] - at[i]; got != c.want {
				t.Errorf("%s: a round %v after another, want %v", c.name, got, c.want)
			}
		}
		if want := int(2 * time.Second / c.want); len(at) != want {
			t.Errorf("%s: %d rounds, want %d", c.name, len(at), want)
		}
	}
}

// TestLateRound: a round that is late is not made up for, and the next one is at a beat.
func TestLateRound(t *testing.T) {
	var s Schedule
	b := BeatsFrom(begin.Add(3 * time.Millisecond))
	if !s.Begin(begin.Add(time.Second), Load{}, b) {
		t.Fatal("no first round")
	}
	late := begin.Add(2*time.Second + 11*time.Millisecond)
	if !s.Begin(late, Load{}, b) || s.Begin(late, Load{}, b) {
		t.Error("a late round does not come once")
	}
	if got := s.due.Sub(b.first) % ShortestRound; got != 0 {
		t.Errorf("the next one is %v behind a beat", got)
	}
	if wait := s.Wait(late, Load{}, 0.5); wait <= 0 || wait > ShortestRound {
		t.Errorf("%v until the next one", wait)
	}
}

// TestWait: where values come of looks the next round comes soon, and not always after the same time.
func TestWait(t *testing.T) {
	s := Schedule{due: begin.Add(time.Hour)}
	for _, c := range []struct {
		load   Load
		chance float64
		want   time.Duration
	}{
		{Load{}, 0.5, time.Hour}, {Load{Sampled: 1, Looked: 1}, 0.5, sampledRound}, {Load{Sampled: 1, Looked: 1}, 0, sampledRound / 2},
		{Load{Sampled: 2, Looked: looksSampled + 1}, 0.5, longSampledRound},
	} {
		if got := s.Wait(begin, c.load, c.chance); got != c.want {
			t.Errorf("%+v: %v, want %v", c.load, got, c.want)
		}
	}
}

// turns is how often each of so many targets had a turn in so many rounds, each of which has next begin it.
func turns(targets, rounds int, next func(), has func(seat int) bool) []int {
	n := make([]int, targets)
	for range rounds {
		next()
		for seat := range n {
			if has(seat) {
				n[seat]++
			}
		}
	}
	return n
}

// TestTurns: few targets have a turn each time; of many each has as many as the others, and no more of them at once than there must be.
func TestTurns(t *testing.T) {
	const span = 16 * turnRounds
	for _, c := range []struct {
		name    string
		targets int
		busy    bool
		tends   int
		search  int
		full    int
		memory  int
	}{
		{"few", ManyTargets, false, span, span, span / execPasses, span - span/execPasses},
		{"few, busy CPUs", ManyTargets, true, span, span / turnRounds, span / execPasses, span - span/execPasses},
		{"many", ManyTargets + 1, false, span / turnRounds, span / turnRounds, span / execPassesOfMany, span/execPasses - span/execPassesOfMany},
	} {
		var s Schedule
		all := func(what string, got []int, want int) {
			t.Helper()
			if slices.Min(got) != want || slices.Max(got) != want {
				t.Errorf("%s: %s: %v turns, want %d", c.name, what, got, want)
			}
		}
		l := Load{Targets: c.targets}
		all("tended", turns(c.targets, span, func() { s.round++ }, func(seat int) bool { return s.Tends(seat, l) }), c.tends)
		all("searched", turns(c.targets, span, s.BeginSearch, func(seat int) bool { return s.Searches(seat, c.targets, c.busy) }), c.search)
		all("asked in full", turns(c.targets, span, s.BeginPass, func(seat int) bool { return s.Check(seat, c.targets) == FullCheck }), c.full)
		all("asked by their memory", turns(c.targets, span, s.BeginPass, func(seat int) bool { return s.Check(seat, c.targets) == MemoryCheck }), c.memory)
	}
}

// TestSpread: of many targets about as many have their turn in one round as in another.
func TestSpread(t *testing.T) {
	var s Schedule
	l := Load{Targets: 1000}
	for range turnRounds {
		s.round++
		n := 0
		for seat := range l.Targets {
			if s.Tends(seat, l) {
				n++
			}
		}
		if n != l.Targets/turnRounds {
			t.Errorf("%d of %d targets in one round", n, l.Targets)
		}
	}
}

// TestLooks: looks go on where they ended, so that all targets get as many; and there are no more in a round than may be.
func TestLooks(t *testing.T) {
	for _, c := range []struct {
		name             string
		targets, threads int // of each
		most             int
	}{
		{"few threads", 3, 4, 12}, {"a good many", 30, 4, looks}, {"very many", 100, 4, looksOfMany}, {"much in one", 2, 200, looksOfMany}, {"none", 0, 0, 0},
	} {
		var s Schedule
		got := make([]int, c.targets)
		for range 1000 {
			sum := 0
			s.Look(Load{Targets: c.targets, Threads: c.targets * c.threads}, func(i, left int) int {
				n := min(left, c.threads)
				got[i] += n
				sum += n
				return n
			})
			if sum != c.most {
				t.Fatalf("%s: %d looks in one round, want %d", c.name, sum, c.most)
			}
		}
		if len(got) > 0 && float64(slices.Max(got)-slices.Min(got)) > 0.01*float64(slices.Max(got)) {
			t.Errorf("%s: from %d to %d looks", c.name, slices.Min(got), slices.Max(got))
		}
	}
}

// TestLooksOfSampled: they have a place of their own, and as many looks in one round as they may.
func TestLooksOfSampled(t *testing.T) {
	var s Schedule
	l, sum := Load{Targets: 10, Sampled: 10, Looked: 100}, 0
	look := func(i, left int) int { sum += 10; return 10 }
	s.Look(l, func(i, left int) int { return left })
	if s.LookSampled(l, look); sum != looksSampled || s.sampled.last != 2 || s.probed.last != 1 {
		t.Errorf("%d looks, the last of target %d, and of probed ones of %d", sum, s.sampled.last, s.probed.last)
	}
	if got := BetweenLooks(1); got != sampledRound {
		t.Errorf("%v between looks at one thread", got)
	}
	if got := BetweenLooks(10 * looksSampled); got != 10*sampledRound {
		t.Errorf("%v between looks at one of many threads", got)
	}
}

// TestReads: samples are read in one of some rounds, however exactly they come.
func TestReads(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		var s Schedule
		n := 0
		for i := range 400 {
			at := begin.Add(time.Duration(i) * ShortestRound)
			if i%2 == 1 {
				at = at.Add(late)
			}
			if s.Reads(at) {
				n++
			}
		}
		if want := 400 * int(ShortestRound) / int(readInterval); n != want {
			t.Errorf("%v late: samples are read %d times, want %d", late, n, want)
		}
	}
}

// TestSpared: one of some rounds is for threads even where nobody waits for their values.
func TestSpared(t *testing.T) {
	s, n := Schedule{due: begin}, 0
	for i := range 10 * StillRounds {
		if s.Begin(begin.Add(time.Duration(i)*ShortestRound), Load{}, BeatsFrom(begin)) && !s.Spared() {
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d of %d rounds are not spared", n, 10*StillRounds)
	}
}

// TestBeats: intervals that divide each other end together.
func TestBeats(t *testing.T) {
	b := BeatsFrom(begin)
	at := begin.Add(1250 * time.Millisecond)
	long, short := b.Next(at, 200*time.Millisecond), b.Next(at, 50*time.Millisecond)
	if long != 150*time.Millisecond || short != 50*time.Millisecond {
		t.Errorf("%v until the next beat of 200 ms, %v of 50 ms", long, short)
	}
}
