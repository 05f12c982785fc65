package segment

import (
	"errors"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// Share maps a segment into the stopped target: an ordinary one, or, where the target fills all memory, one of little memory. Comes a segment
// with the error, then it has left something in the target that could not be taken out at once: see Withdraw.
func Share(w *process.World, p *process.Process, l Layout, threads int, maps []process.Mapping) (*Segment, error) {
	full, err := fills(w, p, l.locked)
	if err != nil {
		return nil, err
	}
	if !full {
		s, err := create(w, p, l, maps)
		if s != nil || !errors.Is(err, errFills) {
			return s, err
		}
	}
	if l, err = underLock(p, threads); err != nil {
		return nil, err
	}
	return create(w, p, l, maps)
}

// create maps a segment into the stopped target. A failure undoes what was done; if that cannot be now, the segment comes with the error.
func create(w *process.World, p *process.Process, l Layout, maps []process.Mapping) (*Segment, error) {
	s, err := newSegment(w, p, l, maps)
	if err == nil || s == nil {
		return s, err
	}
	if !deferred(err) {
		undone := s.unmap(w)
		if err = errors.Join(err, undone); undone == nil {
			s.Close()
			return nil, err
		}
	}
	return s, err // it is ours as long as we have its memory
}

// errFills says that the target fills all memory that it maps.
var errFills = errors.New("the target locks all of its memory")

// fills finds out whether the stopped target fills what it maps: one that has locked nothing yet shows it by the head of the segment.
func fills(w *process.World, p *process.Process, locked uint64) (bool, error) {
	if locked == 0 {
		return false, nil
	}
	at, err := w.Mmap(0, trampoline.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
	if err != nil {
		return false, err
	}
	now, err := p.Locked()
	return now > locked, errors.Join(err, w.Munmap(at, trampoline.PageSize))
}
