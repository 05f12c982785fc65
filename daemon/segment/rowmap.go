package segment

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// What the kernel keeps for each thread (package rows) is mapped into the target beside the segment. The head says where, before it is there.

// MapRows maps a table of rows into the target, of which this process has a descriptor.
func (s *Segment) MapRows(stop stopper, fd, size int) error {
	err := stop(func(w *process.World) error { return s.passRows(w, fd, size) })
	if process.GivenUp(err) {
		err = errors.Join(err, takeOut(s.proc, stop, s, nil))
	}
	return err
}

// passRows maps a table of rows into the stopped target, of which this process has a descriptor. What would be left behind if we were killed, or if
// a call were not waited for, is noted in the segment's head first: where the mapping will be, and which map it is of, by which the target's
// descriptor of it is found.
func (s *Segment) passRows(w *process.World, fd, size int) error {
	if err := s.dropRows(w); err != nil {
		return err
	}
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	at := roomiest(maps)
	s.RowsAddr, s.RowsSize, s.RowsMap = uint64(at), uint64(size), uint32(fdInfo("/proc/self", fd, "map_id"))
	s.encode()
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED_NOREPLACE
	if _, err := w.Mmap(at, s.RowsSize, unix.PROT_NONE, flags, -1, 0); err != nil {
		if !deferred(err) {
			s.RowsAddr, s.RowsSize = 0, 0 // what is there is the target's own
			s.encode()
		}
		return err
	}
	if err := s.passTable(w, at, fd); err != nil {
		return errors.Join(fmt.Errorf("mapping the per-thread statistics: %w", err), s.dropRows(w))
	}
	s.rowsMapped = true
	s.tellRows()
	return nil
}

// HasRows reports whether the target maps rows.
func (s *Segment) HasRows() bool { return s.rowsMapped }

// dropRows unmaps what an attempt to map rows has left.
func (s *Segment) dropRows(w *process.World) error {
	if s.RowsAddr == 0 || s.rowsMapped {
		return nil
	}
	if err := w.Munmap(process.Addr(s.RowsAddr), s.RowsSize); err != nil {
		return err
	}
	s.RowsAddr, s.RowsSize = 0, 0
	s.encode()
	return nil
}

// passTable puts the table where room was made for it.
func (s *Segment) passTable(w *process.World, at process.Addr, fd int) error {
	fds, err := w.PassFDs([]int{fd}, func(...int) error { return faultPassing.Hit(s.TargetPID) })
	if err != nil {
		return err
	}
	_, err = w.Mmap(at, s.RowsSize, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED, fds[0], 0)
	if cerr := w.CloseFD(fds[0]); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return faultPassed.Hit(s.TargetPID)
}

// tellRows tells the stubs that claim blocks where the rows are.
func (s *Segment) tellRows() {
	for _, sp := range s.spaces {
		s.storeCode(sp, sp.slow+trampoline.SlowRowsOff, s.RowsAddr)
	}
}

// rowMappings are the mappings where the head of a segment among ours says that the rows are.
func rowMappings(p *process.Process, ours, maps []process.Mapping) (list []process.Mapping) {
	h, _, err := HeaderIn(p, ours)
	if err != nil || h.RowsSize == 0 {
		return nil
	}
	lo, hi := process.Addr(h.RowsAddr), process.Addr(h.RowsAddr+h.RowsSize)
	for _, m := range maps {
		if m.Start >= lo && m.End <= hi && (m.Path == "anon_inode:bpf-map" || m.Path == "" && m.Perms == 0) {
			list = append(list, m)
		}
	}
	return list
}

// rowDescriptors are the sockets on which descriptors are passed, and the descriptors of the map that the head of the segment says has the rows.
func rowDescriptors(p *process.Process, open map[int]string) (fds []int) {
	fds = p.PassingSockets(open)
	h, _, err := ReadHeader(p)
	if err != nil || h.RowsMap == 0 {
		return fds
	}
	for fd, link := range open {
		if link == "anon_inode:bpf-map" && uint32(fdInfo(fmt.Sprintf("/proc/%d", p.PID()), fd, "map_id")) == h.RowsMap {
			fds = append(fds, fd)
		}
	}
	return fds
}
