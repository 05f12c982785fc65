package daemon

import (
	"errors"
	"slices"
	"sync"

	"culprit/daemon/batch"
	"culprit/daemon/children"
	"culprit/daemon/clocks"
	"culprit/daemon/measuring"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/resources"
	"culprit/daemon/schedule"
	"culprit/daemon/selfcost"
	"culprit/daemon/stops"
	"culprit/daemon/target"
	"culprit/grid"
)

// A state is who and what is measured: the list of targets and the map of pairs, with the locks that guard them, and what all parts of a daemon use.
type state struct {
	opts      Options
	session   *target.Session
	common    *measuring.Common // with the processes
	allowance selfcost.Allowance
	catalogue *resources.Catalogue
	watcher   *children.Watcher // of what the targets start
	lingering batch.Lingering   // parts that are switched off, and in the text still

	enabling sync.Mutex // see the package comment
	owner    uint64     // enabling guards it

	mu       sync.Mutex // guards these
	targets  []*measuring.Process
	byPID    map[int]*measuring.Process // the last target of each number
	pairs    map[grid.PairKey]*pair
	schedule schedule.Schedule

	stopped chan struct{}
	loops   sync.WaitGroup
}

// goLoop runs what goes on until the session ends.
func (s *state) goLoop(f func()) {
	s.loops.Add(1)
	go func() {
		defer s.loops.Done()
		f()
	}()
}

// Now is the session time in seconds.
func (s *state) Now() float64 { return s.session.Now() }

func (s *state) logf(format string, args ...any) {
	s.session.Logf(format, args...)
}

// notCovered says why a focus selects nothing.
func (s *state) notCovered(f grid.Focus) error {
	if len(f.Elements(grid.Process)) > 0 {
		return s.session.NoProcess(f)
	}
	return process.ErrTargetExited
}

// nextOwner numbers what is put in together. enabling is held.
func (s *state) nextOwner() uint64 {
	s.owner++
	return s.owner
}

// list is the targets of now. Who has enabling need not ask.
func (s *state) list() []*measuring.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*measuring.Process(nil), s.targets...)
}

// typed turns errors of the rooms below into those of the grid, so that whoever searches can tell them apart. mu is held.
func (s *state) typed(err error) error {
	var refused *process.Refused
	var busy *patch.BusyError
	var deferred *process.Deferred
	var long *stops.TooLong
	switch {
	case errors.As(err, &refused):
		return grid.ErrRefused{Point: refused.Point, Reason: refused.Reason}
	case errors.As(err, &busy), errors.As(err, &deferred), errors.As(err, &long):
		return grid.ErrDeferred{Reason: err.Error()}
	case errors.Is(err, process.ErrTargetExeced) && s.opts.Children, process.SaysGone(err) && s.watcher.Awaits():
		return grid.ErrDeferred{Reason: "the target executes another program, which is measured as soon as it has begun"}
	case process.SaysGone(err):
		return grid.ErrTargetExited{PID: s.goneTarget()}
	}
	return err
}

// typedNow is typed where mu is not held.
func (s *state) typedNow(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.typed(err)
}

// goneTarget is the first target that has ended or become another program, 0 if none has. mu is held.
func (s *state) goneTarget() int {
	for _, t := range s.targets {
		if t.Ended() || t.Proc.Gone() {
			return t.Proc.PID()
		}
	}
	return 0
}

// eachTarget is an iter.Seq.
func (s *state) eachTarget(yield func(clocks.Target) bool) {
	for _, t := range s.targets {
		if !yield(t.Clocked()) {
			return
		}
	}
}

// livePIDs are the processes of the targets that have not ended. mu is held.
func (s *state) livePIDs() (pids []int) {
	for _, t := range s.targets {
		if !t.Ended() {
			pids = append(pids, t.Proc.PID())
		}
	}
	return pids
}

// runsLong tells whether a thread of a target ran for long at a time until the last pass. mu is held.
func (s *state) runsLong() bool {
	for _, t := range s.targets {
		if !t.Ended() && t.Threads.RunsLong() {
			return true
		}
	}
	return false
}

// isFirst reports whether a target is the first of those that are measured: it stands for what all have in common. mu is held.
func (s *state) isFirst(t *target.Target) bool {
	return len(s.targets) > 0 && s.targets[0].Target == t
}

// followFilesOf tells whether a pair asks what descriptors of the target stand for. mu is held.
func followFilesOf(t *measuring.Process, pairs map[grid.PairKey]*pair) bool {
	for _, p := range pairs {
		for _, pt := range p.parts {
			if pt.Process == t && pt.Probes != nil && pt.Probes.AsksForFiles() {
				return true
			}
		}
	}
	return false
}

// hasTurn reports whether it is a target's turn to be looked through for new code.
func (s *state) hasTurn(t *measuring.Process, busy bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schedule.Searches(t.Seat, len(s.targets), busy)
}

// partsIn are the parts of a pair, of now.
func (s *state) partsIn(p *pair) []*measuring.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(p.parts)
}

// isIn reports whether a pair is measured in a target.
func (s *state) isIn(p *pair, t *measuring.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.partIn(t)
}

// partsOf are the parts that a pair is measured by, none if it is not measured.
func (s *state) partsOf(key grid.PairKey) []*measuring.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p := s.pairs[key]; {
	case p == nil:
		return nil
	case p.keyed != nil:
		return slices.Clone(p.keyed.of.parts)
	default:
		return slices.Clone(p.parts)
	}
}

// serving is the key of the pair that serves those that choose a key; ok is false for those that do not choose one.
func (s *state) serving(key grid.PairKey) (all grid.PairKey, h grid.Hierarchy, ok bool) {
	f, h, ok := s.session.Library.KeyedBy(key.Metric, key.Focus)
	return grid.PairKey{Metric: servingMark + key.Metric, Focus: f}, h, ok
}

// isStill tells that culprit has used more than it may, and that nothing is measured by a probe or by rows: the search waits, and what goes
// on is only watched. mu is held.
func (s *state) isStill() bool {
	if !s.allowance.Overdrawn() {
		return false
	}
	h := s.holdFree()
	defer h.release()
	for _, p := range s.pairs {
		if !h.holds(p.parts) || slices.ContainsFunc(p.parts, (*measuring.Part).IsMeasured) {
			return false
		}
	}
	return true
}
