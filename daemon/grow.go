package daemon

import (
	"errors"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// reachIsland finds the island for the code at addr, and makes one if a library was loaded out of the reach of those that there
// are: the target gets one more memory file, which is found by its name like the first.
func (t *target) reachIsland(addr uint64) *codeSpace {
	if sp := t.seg.space(addr); sp != nil || t.objectAt(addr) == nil || t.unreachable[addr>>30] != nil {
		return sp
	}
	err := t.stop(func(w *process.World) error { return t.seg.grow(w, t.proc, addr) })
	if err != nil {
		t.unreachable[addr>>30] = err
		t.d.logf("%s: %v", t.name, err)
	}
	return t.seg.space(addr)
}

// grow maps one more island near an address.
func (s *segment) grow(w *process.World, p *process.Process, addr uint64) error {
	if len(s.Islands) == trampoline.MaxIslands {
		return errors.New("the target's code is spread over too many regions of memory")
	}
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	s.taken.addText(maps)
	for _, c := range clusters(maps) {
		if addr >= c.lo && addr < c.hi {
			return s.growNear(w, p, c)
		}
	}
	return errMoved
}

func (s *segment) growNear(w *process.World, p *process.Process, c cluster) error {
	fd, err := w.MemfdCreate(segmentName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	mem, err := openFile(p, fd, islandSize)
	if err == nil {
		s.grown = append(s.grown, mem)
		err = s.placeIsland(w, fd, 0, mem, c)
	}
	return errors.Join(err, w.CloseFD(fd))
}
