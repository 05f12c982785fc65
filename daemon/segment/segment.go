package segment

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// Name is how the segment shows in /proc/PID/maps: "/memfd:culprit (deleted)".
const Name = "culprit"

// A Segment is the memory that a target and the daemon share. Without Close the daemon's mappings stay; what the target
// maps is undone by unmap, or by the target's end.
type Segment struct {
	trampoline.Header
	proc       *process.Process
	code       *area   // head, ledger and the first islands
	grown      []*area // islands that came later
	data       []*area // counters, a step each; before the first are the claims and the table of open files
	Ledger     *trampoline.Ledger
	env        trampoline.Env
	spaces     []*CodeSpace
	taken      residues
	islandSize uint64 // of each
	little     bool   // the target gets memory as it is needed: see Layout
	rowsMapped bool

	unreachable map[uint64]error // GiB in which no island could be placed, and why
}

// claimsSize is the size of what lies before the thread blocks: the array of bytes that say which slots are in use, and the table of
// open files.
func claimsSize(g trampoline.Geometry) int { return filesOff(g) + trampoline.FilesSize }

// filesOff is where in it the table of open files begins.
func filesOff(g trampoline.Geometry) int {
	return (g.Slots + trampoline.PageSize) &^ (trampoline.PageSize - 1)
}

// newSegment makes a segment and has the stopped target map it. With an error comes what there is of it by then, if anything.
func newSegment(w *process.World, p *process.Process, l Layout, maps []process.Mapping) (*Segment, error) {
	near := clusters(maps)
	if len(near) > trampoline.MaxIslands {
		return nil, errTooManyRegions
	}
	g := l.Geometry
	g.CodeSize = len(near) * int(l.islandSize)
	s := &Segment{proc: p, islandSize: l.islandSize, little: l.little, unreachable: map[uint64]error{},
		Header: trampoline.Header{Geometry: g, TargetPID: p.PID(), DaemonPID: os.Getpid(), DaemonStart: process.StartTime(os.Getpid())}}
	s.taken.addText(maps)
	err := s.make()
	if err == nil {
		err = s.build(w, p, l, near, maps)
	}
	return s, err
}

// make makes the segment's memory here. Its head is complete before the target has any of it.
func (s *Segment) make() (err error) {
	if s.code, err = newArea(s.Geometry.Size(), sealed); err != nil {
		return err
	}
	s.Ledger = trampoline.NewLedger(s.code.mem[s.Geometry.LedgerOff():s.Geometry.HeadSize()])
	first, err := newArea(claimsSize(s.Geometry)+s.Geometry.Stride(), counters)
	if err != nil {
		return err
	}
	s.data = []*area{first}
	s.Files = []uint64{s.code.inode, first.inode}
	s.encode()
	return faultCreated.Hit(s.TargetPID)
}

// note has the head say that a file is of the segment, before the target gets it.
func (s *Segment) note(a *area) error {
	if len(s.Files) == trampoline.MaxFiles {
		return errors.New("the segment consists of as many files as there can be")
	}
	s.Files = append(s.Files, a.inode)
	s.encode()
	return nil
}

// forget takes that back, of a file that the target has not got.
func (s *Segment) forget(a *area) {
	s.Files = slices.DeleteFunc(s.Files, func(inode uint64) bool { return inode == a.inode })
	s.encode()
}

// SetPID tells trampolines what number the target has for itself.
func (s *Segment) SetPID(pid int) { s.env.PID = pid }

// SetStays says in the head whether the segment is to stay in the target, for whoever comes after us.
func (s *Segment) SetStays(stays bool) {
	s.Stays = stays
	s.encode()
}

// encode writes the head.
func (s *Segment) encode() { s.Encode(s.code.mem) }

func (s *Segment) build(w *process.World, p *process.Process, l Layout, clusters []cluster, maps []process.Mapping) (err error) {
	fds, err := pass(w, s.TargetPID, s.code, s.data[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(w, fds)) }()
	if err := s.mapHead(w, fds[0]); err != nil {
		return err
	}
	if err := l.stillFits(p); err != nil {
		return err
	}
	if err := s.mapData(w, fds[1], l.dataAt(maps)); err != nil {
		return err
	}
	for i, c := range clusters {
		off := s.Geometry.CodeOff() + i*int(s.islandSize)
		if err := s.placeIsland(w, fds[0], uint64(off), s.code.mem[off:][:s.islandSize], c); err != nil {
			return err
		}
	}
	return faultBuilt.Hit(s.TargetPID)
}

// mapHead maps head and ledger: from then on the segment can be found.
func (s *Segment) mapHead(w *process.World, fd int) error {
	head, err := w.Mmap(0, uint64(s.Geometry.HeadSize()), unix.PROT_READ, unix.MAP_SHARED, fd, 0)
	if err != nil {
		return fmt.Errorf("mapping the ledger into the target: %w", err)
	}
	if err := faultHead.Hit(s.TargetPID); err != nil {
		return errors.Join(err, w.Munmap(head, uint64(s.Geometry.HeadSize())))
	}
	s.HeadAddr = uint64(head)
	s.encode()
	return undumped(w, head, uint64(s.Geometry.HeadSize()))
}

// mapData maps the first step of the counters, near an address if that is not 0.
func (s *Segment) mapData(w *process.World, fd int, near process.Addr) error {
	g := s.Geometry
	size := uint64(len(s.data[0].mem))
	data, err := mapCounters(w, near, size, 0, fd)
	if err != nil {
		return err
	}
	s.DataAddr = uint64(data)
	s.env = trampoline.Env{Geometry: g, ClaimsAddr: uint64(data), DataAddr: uint64(data) + uint64(claimsSize(g)), FilesAddr: uint64(data) + uint64(filesOff(g))}
	s.encode()
	return faultData.Hit(s.TargetPID)
}

// mapCounters maps memory that the target writes to. Children that it forks do not have it: they are led past all that touches it by the
// gate, and whoever of them has given up the target's rights cannot change what the target goes by.
func mapCounters(w *process.World, at process.Addr, size uint64, flags, fd int) (process.Addr, error) {
	data, err := w.Mmap(at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|flags, fd, 0)
	if err != nil {
		return 0, fmt.Errorf("mapping counters into the target: %w", err)
	}
	if _, err := w.Syscall(unix.SYS_MADVISE, uint64(data), size, unix.MADV_DONTFORK); err != nil {
		return 0, errors.Join(fmt.Errorf("keeping counters from the target's children: %w", err), w.Munmap(data, size))
	}
	if err := undumped(w, data, size); err != nil {
		return 0, errors.Join(err, w.Munmap(data, size))
	}
	return data, nil
}

// undumped keeps memory of ours out of core dumps of the target: it is hundreds of times as large as some programs.
func undumped(w *process.World, at process.Addr, size uint64) error {
	if _, err := w.Syscall(unix.SYS_MADVISE, uint64(at), size, unix.MADV_DONTDUMP); err != nil {
		return fmt.Errorf("keeping memory out of the target's core dumps: %w", err)
	}
	return nil
}

var errTooManyRegions = errors.New("the target's code is spread over too many regions of memory")

// unmap removes the segment from the stopped target. Every jump into it must be gone. The head is there as long as anything else is.
func (s *Segment) unmap(w *process.World) error {
	var errs []error
	for _, i := range s.Islands {
		errs = append(errs, w.Munmap(process.Addr(i.Addr), i.Size))
	}
	if s.DataAddr != 0 { // further steps come when nothing here fails any more
		errs = append(errs, w.Munmap(process.Addr(s.DataAddr), uint64(len(s.data[0].mem))))
	}
	if err := errors.Join(errs...); err != nil || s.HeadAddr == 0 {
		return err
	}
	return w.Munmap(process.Addr(s.HeadAddr), uint64(s.Geometry.HeadSize()))
}

// Close unmaps the daemon's side.
func (s *Segment) Close() {
	for _, a := range s.areas() {
		a.Close()
	}
	s.code, s.grown, s.data = nil, nil, nil
}

// areas are all of the segment's memory.
func (s *Segment) areas() []*area {
	all := slices.Concat(s.grown, s.data)
	if s.code != nil {
		all = append(all, s.code)
	}
	return all
}
