package segment

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"culprit/daemon/process"
)

// A call that a thread of the target makes for us may take long where the machine is busy: the thread needs a processor. It is not waited for
// longer than the target may stand still, and completes the call by itself, some time later. What the call does is not known until then,
// and a thread on its way from one makes no other. So what an attempt to attach has put into a target by then is taken out in stops of its own.

// A stopper stops the threads of a target, runs f and lets them go.
type stopper func(f func(*process.World) error) error

// ErrHalf: what an attempt to attach has put into a process is still there.
var ErrHalf = errors.New("a part of the memory for probes is in it and could not be removed")

// deferred reports whether all that was wrong is that the process could not be stopped, or did not complete a call, in time.
func deferred(err error) bool {
	var deferred *process.Deferred
	return errors.As(err, &deferred)
}

// patientlyUnseen is for how long calls are waited for that have shown nothing yet: those of a frozen process do not before it is thawed.
const patientlyUnseen = time.Second

// Withdraw takes out of a process what an attempt to attach has put there that failed with an error: half is what Share gave with that, nil if
// nothing. It returns that error, or another one if something stays.
func Withdraw(p *process.Process, stop stopper, half *Segment, failed error) error {
	var areas []*area
	if half != nil {
		defer half.Close()
		areas = half.areas()
	}
	err := takeOut(p, stop, half, areas)
	if err == nil {
		err = Tidy(p, stop)
	}
	if err == nil || p.GoneBy(err) {
		return failed
	}
	return stays(p.PID(), failed, err)
}

// stays says that something stays because of err of an attempt to attach that failed.
func stays(pid int, failed, err error) error {
	return fmt.Errorf("%w: %v; it does no harm, and culprit restore %d removes it when the machine is less busy (attaching failed because of: %v)", ErrHalf, err, pid, failed)
}

// givenUp takes what a stop has mapped of an area out of the target again if it ended because a call was given up.
func (s *Segment) givenUp(failed error, stop stopper, a *area) error {
	if !process.GivenUp(failed) {
		return failed
	}
	return errors.Join(failed, takeOut(s.proc, stop, s, []*area{a}))
}

// takeOut unmaps what a process maps of areas of a segment, which may be nil, and closes its descriptors of ours, as soon as all calls in it are
// complete.
func takeOut(p *process.Process, stop stopper, s *Segment, areas []*area) error {
	began := time.Now()
	return process.Patiently(func() error {
		err := stop(func(w *process.World) error { return unmapAreas(w, p, s, areas) })
		if process.GivenUp(err) && time.Since(began) > patientlyUnseen && !showsAny(p, areas) {
			return nil
		}
		return err
	})
}

func unmapAreas(w *process.World, p *process.Process, s *Segment, areas []*area) error {
	if err := w.Pending(); err != nil {
		return err
	}
	if err := CloseDescriptors(w, p); err != nil {
		return err
	}
	if s != nil {
		if err := s.dropRows(w); err != nil {
			return err
		}
	}
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	for _, m := range mappingsOf(areas, maps) {
		if err := w.Munmap(m.Start, m.Len()); err != nil {
			return err
		}
	}
	return w.Tidy()
}

// mappingsOf are the mappings of areas, the head of a segment last.
func mappingsOf(areas []*area, maps []process.Mapping) []process.Mapping {
	list := pick(maps, func(m process.Mapping) bool {
		return isNamed(m) && slices.ContainsFunc(areas, func(a *area) bool { return a.inode == m.Inode })
	})
	heads := slices.DeleteFunc(slices.Clone(list), func(m process.Mapping) bool { return !IsHead(m) })
	return append(slices.DeleteFunc(list, IsHead), heads...)
}

// showsAny reports whether a process has anything of areas, or of their making.
func showsAny(p *process.Process, areas []*area) bool {
	maps, err := p.Maps()
	if err != nil || len(mappingsOf(areas, maps)) > 0 || len(process.Leftovers(maps)) > 0 {
		return true
	}
	fds, err := Descriptors(p)
	return err != nil || len(fds) > 0
}

// CloseDescriptors closes descriptors of a segment that was being built when its culprit was killed.
func CloseDescriptors(w *process.World, p *process.Process) error {
	fds, err := Descriptors(p)
	if err != nil {
		return err
	}
	for _, fd := range fds {
		if err := w.CloseFD(fd); err != nil {
			return err
		}
	}
	return w.ForgetPairs()
}

// Tidy sees to it that the page from which calls are made in a process is gone: where a thread did not come back in time from the last of
// them it has stayed.
func Tidy(p *process.Process, stop stopper) error {
	return process.Patiently(func() error {
		maps, err := p.Maps()
		if err != nil || len(process.Leftovers(maps)) == 0 {
			return err
		}
		err = stop(func(w *process.World) error {
			if err := w.Pending(); err != nil {
				return err
			}
			return w.Tidy()
		})
		if err != nil {
			return err
		}
		if maps, err = p.Maps(); err == nil && len(process.Leftovers(maps)) > 0 {
			return process.Late(p.PID())
		}
		return err
	})
}
