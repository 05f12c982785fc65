package daemon

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

// errHalf: what an attempt to attach has put into a process is still there.
var errHalf = errors.New("a part of the memory for probes is in it and could not be removed")

// unfinished reports whether a call in the target was given up.
func unfinished(err error) bool {
	var deferred *process.Deferred
	return errors.As(err, &deferred) && deferred.InCall
}

// build maps a segment into the stopped target. A failure undoes what was done, now or, if that cannot be, with withdraw.
func (t *target) build(w *process.World, l layout, maps []process.Mapping) error {
	s, err := newSegment(w, t.proc, l, maps)
	switch {
	case err == nil:
		t.seg = s
		return nil
	case s == nil:
		return err
	case !unstopped(err):
		undone := s.unmap(w)
		if err = errors.Join(err, undone); undone == nil {
			s.Close()
			return err
		}
	}
	t.half = s // it is ours as long as we have its memory
	return err
}

// patientlyUnseen is for how long calls are waited for that have shown nothing yet: those of a frozen process do not before it is thawed.
const patientlyUnseen = time.Second

// withdraw takes out of a target what an attempt to attach has put there that failed with an error. It returns that error, or another one if
// something stays.
func (t *target) withdraw(failed error) error {
	half := t.half
	t.half = nil
	var areas []*area
	if half != nil {
		defer half.Close()
		areas = half.areas()
	}
	err := t.takeOut(areas)
	if err == nil {
		err = t.tidy()
	}
	if err == nil || t.goneBy(err) {
		return failed
	}
	return t.stays(failed, err)
}

// stays says that something stays because of err of an attempt to attach that failed.
func (t *target) stays(failed, err error) error {
	return fmt.Errorf("%w: %v; it does no harm, and culprit restore %d removes it when the machine is less busy (attaching failed because of: %v)", errHalf, err, t.proc.PID(), failed)
}

// givenUp takes what a stop has mapped of an area out of the target again if it ended because a call was given up.
func (t *target) givenUp(failed error, a *area) error {
	if !unfinished(failed) {
		return failed
	}
	return errors.Join(failed, t.takeOut([]*area{a}))
}

// takeOut unmaps what the target maps of areas, and closes its descriptors of ours, as soon as all calls in it are complete.
func (t *target) takeOut(areas []*area) error {
	began := time.Now()
	return leaving(func() error {
		err := t.stop(func(w *process.World) error { return t.unmapAreas(w, areas) })
		if unfinished(err) && time.Since(began) > patientlyUnseen && !t.showsAny(areas) {
			return nil
		}
		return err
	})
}

func (t *target) unmapAreas(w *process.World, areas []*area) error {
	if err := w.Pending(); err != nil {
		return err
	}
	if err := t.closeLeft(w); err != nil {
		return err
	}
	if err := t.dropRows(w); err != nil {
		return err
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
	heads := slices.DeleteFunc(slices.Clone(list), func(m process.Mapping) bool { return !isHead(m) })
	return append(slices.DeleteFunc(list, isHead), heads...)
}

// showsAny reports whether the target has anything of areas, or of their making.
func (t *target) showsAny(areas []*area) bool {
	maps, err := t.proc.Maps()
	if err != nil || len(mappingsOf(areas, maps)) > 0 || len(process.Leftovers(maps)) > 0 {
		return true
	}
	fds, err := ourDescriptors(t.proc)
	return err != nil || len(fds) > 0
}

// tidy sees to it that the page from which calls are made in the target is gone: where a thread did not come back in time from the last of
// them it has stayed.
func (t *target) tidy() error {
	return leaving(func() error {
		maps, err := t.proc.Maps()
		if err != nil || len(process.Leftovers(maps)) == 0 {
			return err
		}
		err = t.stop(func(w *process.World) error {
			if err := w.Pending(); err != nil {
				return err
			}
			return w.Tidy()
		})
		if err != nil {
			return err
		}
		if maps, err = t.proc.Maps(); err == nil && len(process.Leftovers(maps)) > 0 {
			return &process.Deferred{TID: t.proc.PID(), State: process.ThreadState(t.proc.PID(), t.proc.PID()), InCall: true}
		}
		return err
	})
}
