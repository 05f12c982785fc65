package daemon

import (
	"errors"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// reachIsland finds the island for the code at addr, and makes one if those in reach are full, or if a library was loaded out of the reach
// of those that there are.
func (t *target) reachIsland(addr uint64) *codeSpace {
	sp := t.seg.space(addr)
	if sp != nil && sp.hasRoom() || t.objectAt(addr) == nil || t.unreachable[addr>>30] != nil {
		return sp
	}
	if err := t.growIsland(addr); err != nil {
		t.unreachable[addr>>30] = err
		t.d.logf("%s: %v", t.name, err)
	}
	return t.seg.space(addr)
}

// growIsland maps one more island near an address. What can be made before the target stands still is.
func (t *target) growIsland(addr uint64) error {
	if len(t.seg.Islands) == trampoline.MaxIslands {
		return errTooManyRegions
	}
	if err := t.affords(t.seg.islandSize); err != nil {
		return err
	}
	a, err := newArea(int(t.seg.islandSize), sealed)
	if err != nil {
		return err
	}
	t.seg.grown = append(t.seg.grown, a)
	return t.givenUp(t.stop(func(w *process.World) error { return t.seg.grow(w, a, addr) }), a)
}

// grow maps an area as an island near an address.
func (s *segment) grow(w *process.World, a *area, addr uint64) error {
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
	return errMoved
}

// maxSteps is how many steps the counters have at most.
const maxSteps = 16

// growCells gives every thread block one more step of words.
func (t *target) growCells() error {
	g := t.seg.Geometry
	if len(t.seg.data) == maxSteps {
		return errors.New("there are as many as there can be")
	}
	if err := t.affords(uint64(g.Stride())); err != nil {
		return err
	}
	a, err := newArea(g.Stride(), counters)
	if err != nil {
		return err
	}
	if err := t.givenUp(t.stop(func(w *process.World) error { return t.seg.addStep(w, a) }), a); err != nil {
		a.Close()
		return err
	}
	t.seg.data = append(t.seg.data, a)
	return nil
}

// addStep maps an area behind the steps that there are.
func (s *segment) addStep(w *process.World, a *area) error {
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
