package daemon

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// segmentName is how the segment shows in /proc/PID/maps: "/memfd:culprit (deleted)".
const segmentName = "culprit"

// A segment is the memory that a target and the daemon share. Without Close the daemon's mapping stays; what the target
// maps is undone by unmap, or by the target's end.
type segment struct {
	trampoline.Header
	mem    []byte // the daemon's mapping of all of it, read-write
	ledger *trampoline.Ledger
	env    trampoline.Env
	spaces []*codeSpace
	taken  residues
	grown  [][]byte // the daemon's mappings of islands that came later, each a memory file of its own
}

// A codeSpace hands out the memory of one island.
type codeSpace struct {
	trampoline.Island
	mem     []byte   // the daemon's mapping of it
	gate    uint64   // address of the word that is 0 in forked children; 0 where the kernel has no such memory
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

// newSegment has the stopped target create and map the segment. A failure undoes what was done.
func newSegment(w *process.World, p *process.Process, threads int, maps []process.Mapping) (*segment, error) {
	g := trampoline.DefaultGeometry(threads)
	fd, err := w.MemfdCreate(segmentName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("creating the shared segment in process %d: %w", p.PID(), err)
	}
	if err := faultCreated.Hit(p.PID()); err != nil {
		return nil, errors.Join(err, w.CloseFD(fd))
	}
	s := &segment{Header: trampoline.Header{Geometry: g, TargetPID: p.PID(), DaemonPID: os.Getpid(), DaemonStart: process.StartTime(os.Getpid())}}
	s.taken.addText(maps)
	err = s.build(w, p, fd, clusters(maps))
	if cerr := w.CloseFD(fd); err == nil {
		err = cerr
	}
	if err != nil {
		s.unmap(w)
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *segment) build(w *process.World, p *process.Process, fd int, clusters []cluster) error {
	if err := s.mapHere(p, fd); err != nil {
		return err
	}
	if err := faultSized.Hit(s.TargetPID); err != nil {
		return err
	}
	g := s.Geometry
	head, err := w.Mmap(0, uint64(g.DataOff()), unix.PROT_READ, unix.MAP_SHARED, fd, 0)
	if err != nil {
		return fmt.Errorf("mapping the ledger into the target: %w", err)
	}
	s.HeadAddr = uint64(head)
	s.Encode(s.mem)
	if err := faultHead.Hit(s.TargetPID); err != nil {
		return err
	}
	data, err := w.Mmap(0, uint64(claimsSize(g)+g.DataSize()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, fd, uint64(g.DataOff()))
	if err != nil {
		return fmt.Errorf("mapping counters into the target: %w", err)
	}
	s.DataAddr = uint64(data)
	s.env = trampoline.Env{Geometry: g, ClaimsAddr: uint64(data), DataAddr: uint64(data) + uint64(claimsSize(g)), FilesAddr: uint64(data) + uint64(filesOff(g))}
	s.Encode(s.mem)
	if err := faultData.Hit(s.TargetPID); err != nil {
		return err
	}
	for _, c := range clusters {
		if err := s.addIsland(w, fd, c); err != nil {
			return err
		}
	}
	s.ledger = trampoline.NewLedger(s.mem[g.LedgerOff():g.DataOff()])
	return faultBuilt.Hit(s.TargetPID)
}

// mapHere opens the target's memory file, fixes its size for ever and maps it into the daemon.
func (s *segment) mapHere(p *process.Process, fd int) (err error) {
	s.mem, err = openFile(p, fd, s.Geometry.Size()+claimsSize(s.Geometry))
	return err
}

// openFile gives a memory file of the target its size and maps it here.
func openFile(p *process.Process, fd, size int) ([]byte, error) {
	f, err := p.OpenFD(fd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("sizing the shared segment: %w", err)
	}
	// A target that shrinks the file would kill its reader with SIGBUS.
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil && !errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("sealing the shared segment: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the shared segment: %w", err)
	}
	return mem, nil
}

// islandSize is the room for trampolines near one cluster of text.
const islandSize = 32 << 20

func (s *segment) addIsland(w *process.World, fd int, c cluster) error {
	off := s.Geometry.CodeOff() + claimsSize(s.Geometry) + len(s.Islands)*islandSize
	if len(s.Islands) == trampoline.MaxIslands || off+islandSize > len(s.mem) {
		return errors.New("the target's code is spread over too many regions of memory")
	}
	return s.placeIsland(w, fd, uint64(off), s.mem[off:off+islandSize], c)
}

// placeIsland maps an island near a cluster.
func (s *segment) placeIsland(w *process.World, fd int, off uint64, mem []byte, c cluster) error {
	for _, at := range c.candidates(islandSize) {
		_, err := w.Mmap(process.Addr(at), islandSize, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE, fd, off)
		if err != nil {
			continue
		}
		err = faultIsland.Hit(s.TargetPID)
		gated := false
		if err == nil {
			gated, err = openGate(w, s.TargetPID, at)
		}
		if err != nil {
			return errors.Join(err, w.Munmap(process.Addr(at), islandSize))
		}
		return s.openIsland(trampoline.Island{Addr: at, Off: off, Size: islandSize}, mem, gated)
	}
	return &noRoomError{c.lo, c.hi, c.largest()}
}

// A noRoomError says that no island fits near code, and how much would.
type noRoomError struct{ lo, hi, largest uint64 }

func (e *noRoomError) Error() string {
	return fmt.Sprintf("no room for trampolines within 2 GiB of the code at %#x-%#x: %d KiB are needed, the largest free piece has %d KiB",
		e.lo, e.hi, islandSize>>10, e.largest>>10)
}

func (s *segment) openIsland(i trampoline.Island, mem []byte, gated bool) error {
	s.Islands = append(s.Islands, i)
	s.Encode(s.mem)
	sp := &codeSpace{Island: i, mem: mem, slow: i.Addr + trampoline.PageSize}
	if gated {
		sp.gate = i.Addr
	}
	stub, err := trampoline.SlowStub(&s.env, sp.slow)
	if err != nil {
		return err
	}
	copy(s.code(sp, sp.slow, len(stub)), stub)
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
	stub, back, err := trampoline.CallStub(trampoline.VectorState{Mask: trampoline.CallMask, Size: size}, at)
	if err != nil {
		return err
	}
	copy(s.code(sp, at, len(stub)), stub)
	sp.call, sp.back, sp.stubEnd = at, at+uint64(back), at+uint64(len(stub))
	return nil
}

func roundUp64(n, to uint64) uint64 { return (n + to - 1) / to * to }

// space returns the island that the code at addr can jump to and from, data operands of that code included.
func (s *segment) space(addr uint64) *codeSpace {
	const reach = 1<<31 - 1<<20
	for _, sp := range s.spaces {
		lo, hi := min(addr, sp.Addr), max(addr, sp.Addr+sp.Size)
		if hi-lo < reach {
			return sp
		}
	}
	return nil
}

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

// code is the daemon's view of n bytes of an island.
func (s *segment) code(sp *codeSpace, addr uint64, n int) []byte {
	return sp.mem[addr-sp.Addr:][:n]
}

// toggle writes a two-byte switch with one store. Switches lie at even addresses, so the store is one access and a thread
// that runs into it sees the old or the new instruction, both of two bytes.
func (s *segment) toggle(sp *codeSpace, addr uint64, b [2]byte) {
	mem := s.code(sp, addr, 2)
	*(*uint16)(unsafe.Pointer(&mem[0])) = uint16(b[0]) | uint16(b[1])<<8
}

// storeCode writes a word of data among the code of an island, with one store.
func (s *segment) storeCode(sp *codeSpace, addr uint64, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&s.code(sp, addr, 8)[0])), v)
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
	off := s.Geometry.DataOff()
	return s.mem[off : off+s.Slots+1]
}

func (s *segment) word(slot int, off int32) *uint64 {
	at := s.Geometry.DataOff() + claimsSize(s.Geometry) + slot*s.BlockSize + int(off)
	return (*uint64)(unsafe.Pointer(&s.mem[at]))
}

// fileWord is the word of a descriptor in the table of open files.
func (s *segment) fileWord(fd int) *uint64 {
	at := s.Geometry.DataOff() + filesOff(s.Geometry) + fd*trampoline.WordSize
	return (*uint64)(unsafe.Pointer(&s.mem[at]))
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

// unmap removes the segment from the stopped target. Every jump into it must be gone.
func (s *segment) unmap(w *process.World) error {
	var errs []error
	for _, i := range s.Islands {
		errs = append(errs, w.Munmap(process.Addr(i.Addr), i.Size))
	}
	if s.DataAddr != 0 {
		errs = append(errs, w.Munmap(process.Addr(s.DataAddr), uint64(claimsSize(s.Geometry)+s.Geometry.DataSize())))
	}
	if s.HeadAddr != 0 {
		errs = append(errs, w.Munmap(process.Addr(s.HeadAddr), uint64(s.Geometry.DataOff())))
	}
	return errors.Join(errs...)
}

// Close unmaps the daemon's side.
func (s *segment) Close() {
	for _, mem := range s.grown {
		unix.Munmap(mem)
	}
	s.grown = nil
	if s.mem != nil {
		unix.Munmap(s.mem)
		s.mem = nil
	}
}
