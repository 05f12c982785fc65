package daemon

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// segmentName is how the segment shows in /proc/PID/maps: "/memfd:culprit (deleted)".
const segmentName = "culprit"

// A segment is the memory that a target and the daemon share. Without Close the daemon's mappings stay; what the target
// maps is undone by unmap, or by the target's end.
type segment struct {
	trampoline.Header
	code       *area   // head, ledger and the first islands
	grown      []*area // islands that came later
	data       []*area // counters, a step each; before the first are the claims and the table of open files
	ledger     *trampoline.Ledger
	env        trampoline.Env
	spaces     []*codeSpace
	taken      residues
	islandSize uint64 // of each
}

// A codeSpace hands out the memory of one island.
type codeSpace struct {
	trampoline.Island
	mem     []byte   // the daemon's mapping of it
	gate    uint64   // address of the word that is 0 in forked children
	slow    uint64   // address of the stub that finds thread blocks
	call    uint64   // address of the stub that calls functions of the target; 0 if it cannot
	back    uint64   // where it is returned to
	stubEnd uint64   // where the stubs end
	next    uint64   // offset of the first byte that was never used
	stubs   []uint64 // addresses of the stubs of punned sites, which lie anywhere behind it, in order

	residues *residues // of the segment, while rooms keep apart from text
	number   uint8     // by which the residues know it
	gaps     []gap     // offsets of what was left out meanwhile
}

// claimsSize is the size of what lies before the thread blocks: the array of bytes that say which slots are in use, and the table of
// open files.
func claimsSize(g trampoline.Geometry) int { return filesOff(g) + trampoline.FilesSize }

// filesOff is where in it the table of open files begins.
func filesOff(g trampoline.Geometry) int {
	return (g.Slots + trampoline.PageSize) &^ (trampoline.PageSize - 1)
}

// newSegment makes a segment and has the stopped target map it. With an error comes what there is of it by then, if anything.
func newSegment(w *process.World, p *process.Process, l layout, maps []process.Mapping) (*segment, error) {
	near := clusters(maps)
	if len(near) > trampoline.MaxIslands {
		return nil, errTooManyRegions
	}
	g := l.Geometry
	g.CodeSize = len(near) * int(l.islandSize)
	s := &segment{islandSize: l.islandSize,
		Header: trampoline.Header{Geometry: g, TargetPID: p.PID(), DaemonPID: os.Getpid(), DaemonStart: process.StartTime(os.Getpid())}}
	s.taken.addText(maps)
	err := s.make()
	if err == nil {
		err = s.build(w, p, l, near, maps)
	}
	return s, err
}

// make makes the segment's memory here. Its head is complete before the target has any of it.
func (s *segment) make() (err error) {
	if s.code, err = newArea(s.Geometry.Size(), sealed); err != nil {
		return err
	}
	s.ledger = trampoline.NewLedger(s.code.mem[s.Geometry.LedgerOff():s.Geometry.HeadSize()])
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
func (s *segment) note(a *area) error {
	if len(s.Files) == trampoline.MaxFiles {
		return errors.New("the segment consists of as many files as there can be")
	}
	s.Files = append(s.Files, a.inode)
	s.encode()
	return nil
}

// forget takes that back, of a file that the target has not got.
func (s *segment) forget(a *area) {
	s.Files = slices.DeleteFunc(s.Files, func(inode uint64) bool { return inode == a.inode })
	s.encode()
}

// encode writes the head.
func (s *segment) encode() { s.Encode(s.code.mem) }

func (s *segment) build(w *process.World, p *process.Process, l layout, clusters []cluster, maps []process.Mapping) (err error) {
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
func (s *segment) mapHead(w *process.World, fd int) error {
	head, err := w.Mmap(0, uint64(s.Geometry.HeadSize()), unix.PROT_READ, unix.MAP_SHARED, fd, 0)
	if err != nil {
		return fmt.Errorf("mapping the ledger into the target: %w", err)
	}
	if err := faultHead.Hit(s.TargetPID); err != nil {
		return errors.Join(err, w.Munmap(head, uint64(s.Geometry.HeadSize())))
	}
	s.HeadAddr = uint64(head)
	s.encode()
	return nil
}

// mapData maps the first step of the counters, near an address if that is not 0.
func (s *segment) mapData(w *process.World, fd int, near process.Addr) error {
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
	return data, nil
}

var errTooManyRegions = errors.New("the target's code is spread over too many regions of memory")

// placeIsland maps an island near a cluster.
func (s *segment) placeIsland(w *process.World, fd int, off uint64, mem []byte, c cluster) error {
	for _, at := range c.candidates(s.islandSize) {
		_, err := w.Mmap(process.Addr(at), s.islandSize, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE, fd, off)
		var no unix.Errno
		if errors.As(err, &no) {
			continue
		}
		if err != nil {
			return err
		}
		if err = faultIsland.Hit(s.TargetPID); err == nil {
			err = openGate(w, s.TargetPID, at)
		}
		if err != nil {
			return errors.Join(err, w.Munmap(process.Addr(at), s.islandSize))
		}
		return s.openIsland(trampoline.Island{Addr: at, Off: off, Size: s.islandSize}, mem)
	}
	return &noRoomError{c.lo, c.hi, c.largest(), s.islandSize}
}

// A noRoomError says that no island fits near code, and how much would.
type noRoomError struct{ lo, hi, largest, needed uint64 }

func (e *noRoomError) Error() string {
	return fmt.Sprintf("no room for trampolines within 2 GiB of the code at %#x-%#x: %d KiB are needed, the largest free piece has %d KiB",
		e.lo, e.hi, e.needed>>10, e.largest>>10)
}

func (s *segment) openIsland(i trampoline.Island, mem []byte) error {
	s.Islands = append(s.Islands, i)
	s.encode()
	sp := &codeSpace{Island: i, mem: mem, gate: i.Addr, slow: i.Addr + trampoline.PageSize}
	stub, err := trampoline.SlowStub(&s.env, sp.slow)
	if err != nil {
		return err
	}
	copy(s.view(sp, sp.slow, len(stub)), stub)
	sp.stubEnd = sp.slow + uint64(len(stub))
	s.storeCode(sp, sp.slow+trampoline.SlowRowsOff, s.RowsAddr)
	if err := s.addCallStub(sp); err != nil {
		return err
	}
	sp.next = roundUp64(sp.stubEnd-i.Addr, 64)
	sp.keepApart(&s.taken, len(s.Islands))
	s.spaces = append(s.spaces, sp)
	return nil
}

// addCallStub puts the stub for calls of the target's functions behind the other one.
func (s *segment) addCallStub(sp *codeSpace) error {
	size, ok := process.VectorSize(trampoline.CallMask)
	if !ok {
		return nil
	}
	at := roundUp64(sp.stubEnd, 64)
	stub, back, err := trampoline.CallStub(trampoline.VectorState{Mask: trampoline.CallMask, Size: size}, at, sp.gate)
	if err != nil {
		return err
	}
	copy(s.view(sp, at, len(stub)), stub)
	sp.call, sp.back, sp.stubEnd = at, at+uint64(back), at+uint64(len(stub))
	return nil
}

func roundUp64(n, to uint64) uint64 { return (n + to - 1) / to * to }

// space returns the island that the code at addr can jump to and from, data operands of that code included: one that has room, if there
// is any.
func (s *segment) space(addr uint64) (found *codeSpace) {
	const reach = 1<<31 - 1<<20
	for _, sp := range s.spaces {
		lo, hi := min(addr, sp.Addr), max(addr, sp.Addr+sp.Size)
		if hi-lo >= reach {
			continue
		}
		if found = sp; sp.hasRoom() {
			break
		}
	}
	return found
}

// spaceAt is the island at an address.
func (s *segment) spaceAt(addr uint64) *codeSpace {
	for _, sp := range s.spaces {
		if addr >= sp.Addr && addr < sp.Addr+sp.Size {
			return sp
		}
	}
	return nil
}

// hasRoom reports whether one more base trampoline surely fits.
func (sp *codeSpace) hasRoom() bool { return sp.next+largeRoom <= sp.Size }

// largeRoom is more than a base trampoline takes.
const largeRoom = 32 << 10

// alloc reserves n bytes for good; ok is false when the island is full. What is given back belongs to its site.
func (sp *codeSpace) alloc(n int) (addr uint64, ok bool) {
	if !sp.apart(n) {
		if off, ok := sp.fromGaps(n); ok {
			return sp.Addr + off, true
		}
		if sp.skipStubs(n); sp.next+uint64(n) > sp.Size {
			return 0, false
		}
	}
	sp.claim(sp.next, n)
	addr = sp.Addr + sp.next
	sp.next += uint64(n)
	return addr, true
}

// view is the daemon's view of n bytes of an island.
func (s *segment) view(sp *codeSpace, addr uint64, n int) []byte {
	return sp.mem[addr-sp.Addr:][:n]
}

// toggle writes a two-byte switch with one store. Switches lie at even addresses, so the store is one access and a thread
// that runs into it sees the old or the new instruction, both of two bytes.
func (s *segment) toggle(sp *codeSpace, addr uint64, b [2]byte) {
	mem := s.view(sp, addr, 2)
	*(*uint16)(unsafe.Pointer(&mem[0])) = uint16(b[0]) | uint16(b[1])<<8
}

// storeCode writes a word of data among the code of an island, with one store.
func (s *segment) storeCode(sp *codeSpace, addr uint64, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&s.view(sp, addr, 8)[0])), v)
}

// contains reports whether an address lies in an island.
func (s *segment) contains(pc uint64) bool {
	for _, i := range s.Islands {
		if pc >= i.Addr && pc < i.Addr+i.Size {
			return true
		}
	}
	return false
}

// Thread blocks as the daemon sees them.

// claims has a byte for every block, the overflow block included.
func (s *segment) claims() []byte {
	return s.data[0].mem[:s.Slots+1]
}

// word is a word of a block, in the step that its offset says.
func (s *segment) word(slot int, off int32) *uint64 {
	step, at := int(off)/s.Geometry.Stride(), slot*s.BlockSize+int(off)%s.Geometry.Stride()
	if step == 0 {
		at += claimsSize(s.Geometry)
	}
	return (*uint64)(unsafe.Pointer(&s.data[step].mem[at]))
}

// fileWord is the word of a descriptor in the table of open files.
func (s *segment) fileWord(fd int) *uint64 {
	return (*uint64)(unsafe.Pointer(&s.data[0].mem[filesOff(s.Geometry)+fd*trampoline.WordSize]))
}

func (s *segment) load(slot int, off int32) uint64     { return atomic.LoadUint64(s.word(slot, off)) }
func (s *segment) store(slot int, off int32, v uint64) { atomic.StoreUint64(s.word(slot, off), v) }

// slotOf finds the block of a thread pointer, or claims one as a trampoline would. Only while the target is stopped.
func (s *segment) slotOf(threadPointer uint64) int {
	i := s.Geometry.Slot(threadPointer)
	for range 64 {
		switch s.load(i, 0) {
		case threadPointer:
			return i
		case 0:
			s.store(i, 0, threadPointer)
			s.claims()[i] = 1
			return i
		}
		i = (i + 1) % s.Slots
	}
	return s.Slots
}

// used lists the slots that were ever claimed, the overflow block among them. The bytes belong to the target: any non-zero one counts.
func (s *segment) used(buf []int) []int {
	claims := s.claims()
	for i := 0; i < len(claims); i++ {
		if len(claims)-i >= 8 && binary.LittleEndian.Uint64(claims[i:]) == 0 {
			i += 7 // most are free
			continue
		}
		if claims[i] != 0 {
			buf = append(buf, i)
		}
	}
	return buf
}

// overflowed reports whether some thread found no block of its own: numbers are then lower bounds.
func (s *segment) overflowed() bool { return s.claims()[s.Slots] != 0 }

// unmap removes the segment from the stopped target. Every jump into it must be gone. The head is there as long as anything else is.
func (s *segment) unmap(w *process.World) error {
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
func (s *segment) Close() {
	for _, a := range s.areas() {
		a.Close()
	}
	s.code, s.grown, s.data = nil, nil, nil
}

// areas are all of the segment's memory.
func (s *segment) areas() []*area {
	all := slices.Concat(s.grown, s.data)
	if s.code != nil {
		all = append(all, s.code)
	}
	return all
}
