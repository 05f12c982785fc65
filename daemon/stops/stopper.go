package stops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/stack"
)

// Deadline is how long a process may be held at most; past it everything is resumed and what was to be done is tried later.
const Deadline = 500 * time.Millisecond

// A Config is what a Stopper is made with.
type Config struct {
	Proc   *process.Process
	Code   *program.Program
	Walker *stack.Walker
	Name   string       // of the process, for the log
	Log    func(string) // is told of stops that were too long
	Pauses *Pauses      // of this and other processes
}

// A Stopper stops one process.
type Stopper struct {
	cfg    Config
	seg    *segment.Segment // nil where nothing is put into the process
	checks []Check
	count  int

	view   *View   // of the stop that is under way; nil if none is
	last   *View   // of the stop that was last, until all was learnt from it
	walked walkLog // of the stop before
}

// A Check looks at the process in each stop, before anything is done in it. An error ends the stop. What it wants to do when all threads run
// again it gives to View.Later.
type Check func(*process.World) error

// New makes the Stopper of a process.
func New(c Config) *Stopper { return &Stopper{cfg: c} }

// AtEach has a check look at each stop from now on, after those that came before it.
func (s *Stopper) AtEach(c Check) { s.checks = append(s.checks, c) }

// Use tells it the memory that was put into the process.
func (s *Stopper) Use(seg *segment.Segment) { s.seg = seg }

// Count is how often it was tried to stop the process, without those that StopOnce made.
func (s *Stopper) Count() int { return s.count }

// View is what is seen in the stop that is under way; nil if none is.
func (s *Stopper) View() *View { return s.view }

// Stop runs f while every thread of the process is stopped and accounts for the pause. f may be run again if it fails with *lazy.NotReady.
func (s *Stopper) Stop(f func(*process.World) error) error {
	return s.seeing(func() error { return s.gather(f) })
}

// StopOnce is Stop with one try to gather the threads, which may take as long as a stop may take at all. No check looks at the process, and no
// account is kept.
func (s *Stopper) StopOnce(f func(*process.World) error) error {
	return s.seeing(func() error {
		_, err := s.cfg.Proc.Stop(context.Background(), process.StopOptions{Deadline: Deadline}, s.seen(f))
		return err
	})
}

// Threads need the processor to stop, and where the machine is busy one may not get it for long, while all others stand still. So they are waited
// for shortly at first, then let go for as long, then waited for twice as long, and so on: a program stands still a little more often rather than
// for long once.
const (
	gatherTime  = 40 * time.Millisecond  // of the first try: many times what threads need on a machine that is not busy
	gatherEach  = 100 * time.Microsecond // of it for each thread
	gatherTries = 4
)

// gather stops the process, runs f and accounts for the pauses.
func (s *Stopper) gather(f func(*process.World) error) error {
	limit := gatherTime
	if info, err := s.cfg.Proc.Info(); err == nil {
		limit += time.Duration(info.Threads) * gatherEach
	}
	for try := 1; ; try++ {
		limit = min(limit, Deadline)
		gathered, err := s.within(limit, f)
		var late *process.Deferred
		if gathered || !errors.As(err, &late) || try == gatherTries {
			return err
		}
		time.Sleep(limit)
		if process.ThreadState(s.cfg.Proc.PID(), late.TID) == 'D' { // it waits where it cannot be interrupted: to hold the others is of no use
			return err
		}
		limit *= 2
	}
}

// within runs f if all threads of the process have stopped within limit, and says whether they have.
func (s *Stopper) within(limit time.Duration, f func(*process.World) error) (gathered bool, err error) {
	s.count++
	pause, err := s.cfg.Proc.Stop(context.Background(), process.StopOptions{Deadline: limit}, s.seen(func(w *process.World) error {
		for _, look := range s.checks {
			if err := look(w); err != nil {
				return err
			}
		}
		return f(w)
	}))
	s.cfg.Pauses.add(pause, time.Now())
	if pause.Total > Deadline {
		s.cfg.Log(s.cfg.Name + ": " + longPause(pause, err))
	}
	return pause.Threads > 0, err
}

// longPause says what a stop beyond its limit was spent on.
func longPause(p process.Pause, err error) string {
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	if p.Threads == 0 {
		return fmt.Sprintf("not all threads stopped within %v, and all were let go: %v", ms(p.Total), err)
	}
	text := fmt.Sprintf("%d threads were paused for %v: %v until all had stopped, %v while code was changed, the rest until all ran again",
		p.Threads, ms(p.Total), ms(p.Stopping), ms(p.Held))
	if err != nil {
		text += fmt.Sprintf(" (%v)", err)
	}
	return text
}
