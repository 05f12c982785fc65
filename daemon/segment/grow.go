package segment

import (
	"errors"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// GrowCode maps one more island near the code at an address, if those in reach are full, or if a library was loaded out of the reach of those that
// there are. Where that has failed it is not tried again within the same GiB; the error is returned once. What can be made before the target
// stands still is.
func (s *Segment) GrowCode(stop stopper, addr uint64) error {
	if s.unreachable[addr>>30] != nil {
		return nil
	}
	err := s.addIsland(stop, addr)
	if err != nil {
		s.unreachable[addr>>30] = err
	}
	return err
}

// WhyUnreachable tells why no island could be made near an address, nil if none was missed there.
func (s *Segment) WhyUnreachable(addr uint64) error { return s.unreachable[addr>>30] }

func (s *Segment) addIsland(stop stopper, addr uint64) error {
	if len(s.Islands) == trampoline.MaxIslands {
		return errTooManyRegions
	}
	if err := s.affords(s.islandSize); err != nil {
		return err
	}
	a, err := newArea(int(s.islandSize), sealed)
	if err != nil {
		return err
	}
	s.grown = append(s.grown, a)
	return s.givenUp(stop(func(w *process.World) error { return s.grow(w, a, addr) }), stop, a)
}

// errNoCode says that an address is in no code that is mapped.
var errNoCode = errors.New("the target has unloaded the code")

// grow maps an area as an island near an address.
func (s *Segment) grow(w *process.World, a *area, addr uint64) error {
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	s.taken.addText(maps)
	for _, c := range clusters(maps) {
		if addr < c.lo || addr >= c.hi {
			continue
		}
		if err := s.note(a); err != nil {
			return err
		}
		fds, err := pass(w, s.TargetPID, a)
		if err != nil {
			s.forget(a)
			return err
		}
		return errors.Join(s.placeIsland(w, fds[0], 0, a.mem, c), closeAll(w, fds))
	}
	return errNoCode
}

// maxSteps is how many steps the counters have at most.
const maxSteps = 16

// GrowCells gives every thread block one more step of words, where it began with little.
func (s *Segment) GrowCells(stop stopper) error {
	if len(s.data) == maxSteps {
		return errors.New("there are as many as there can be")
	}
	if err := s.affords(uint64(s.Geometry.Stride())); err != nil {
		return err
	}
	a, err := newArea(s.Geometry.Stride(), counters)
	if err != nil {
		return err
	}
	if err := s.givenUp(stop(func(w *process.World) error { return s.addStep(w, a) }), stop, a); err != nil {
		a.Close()
		return err
	}
	s.data = append(s.data, a)
	return nil
}

// addStep maps an area behind the steps that there are.
func (s *Segment) addStep(w *process.World, a *area) error {
	if err := s.note(a); err != nil {
		return err
	}
	fds, err := pass(w, s.TargetPID, a)
	if err != nil {
		s.forget(a)
		return err
	}
	at := process.Addr(s.env.DataAddr + uint64(len(s.data)*s.Geometry.Stride()))
	_, err = mapCounters(w, at, uint64(len(a.mem)), unix.MAP_FIXED_NOREPLACE, fds[0])
	return errors.Join(err, closeAll(w, fds))
}
