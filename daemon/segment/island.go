package segment

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// A CodeSpace hands out the memory of one island.
type CodeSpace struct {
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

// placeIsland maps an island near a cluster.
func (s *Segment) placeIsland(w *process.World, fd int, off uint64, mem []byte, c cluster) error {
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
		if err == nil {
			err = undumped(w, process.Addr(at), s.islandSize)
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

// Error says where, and how much is needed.
func (e *noRoomError) Error() string {
	return fmt.Sprintf("no room for trampolines within 2 GiB of the code at %#x-%#x: %d KiB are needed, the largest free piece has %d KiB",
		e.lo, e.hi, e.needed>>10, e.largest>>10)
}

func (s *Segment) openIsland(i trampoline.Island, mem []byte) error {
	s.Islands = append(s.Islands, i)
	s.encode()
	sp := &CodeSpace{Island: i, mem: mem, gate: i.Addr, slow: i.Addr + trampoline.PageSize}
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
func (s *Segment) addCallStub(sp *CodeSpace) error {
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

// Space returns the island that the code at addr can jump to and from, data operands of that code included: one that has room, if there
// is any.
func (s *Segment) Space(addr uint64) (found *CodeSpace) {
	const reach = 1<<31 - 1<<20
	for _, sp := range s.spaces {
		lo, hi := min(addr, sp.Addr), max(addr, sp.Addr+sp.Size)
		if hi-lo >= reach {
			continue
		}
		if found = sp; sp.HasRoom() {
			break
		}
	}
	return found
}

// spaceAt is the island at an address.
func (s *Segment) spaceAt(addr uint64) *CodeSpace {
	for _, sp := range s.spaces {
		if addr >= sp.Addr && addr < sp.Addr+sp.Size {
			return sp
		}
	}
	return nil
}

// EnvAt is what trampolines in an island have built in; scale turns ticks of the processor's clock into time.
func (s *Segment) EnvAt(sp *CodeSpace, scale int32) *trampoline.Env {
	env := s.env
	env.SlowAddr, env.CallAddr, env.GateAddr = sp.slow, sp.call, sp.gate
	env.Scale = scale
	return &env
}

// ReturnsFromCall reports whether an address is the one that functions of the target return to which a probe has called.
func (s *Segment) ReturnsFromCall(pc uint64) bool {
	return slices.ContainsFunc(s.spaces, func(sp *CodeSpace) bool { return sp.call != 0 && sp.back == pc })
}

// FillForTest leaves no more of any island than what is kept for rooms: stubs of punned sites find no place.
func (s *Segment) FillForTest() {
	for _, sp := range s.spaces {
		sp.next = sp.Size - sp.spare()
	}
}

// HasRoom reports whether one more base trampoline surely fits.
func (sp *CodeSpace) HasRoom() bool { return sp.next+largeRoom <= sp.Size }

// largeRoom is more than a base trampoline takes.
const largeRoom = 32 << 10

// alloc reserves n bytes for good; ok is false when the island is full. What is given back belongs to its site.
func (sp *CodeSpace) alloc(n int) (addr uint64, ok bool) {
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
func (s *Segment) view(sp *CodeSpace, addr uint64, n int) []byte {
	return sp.mem[addr-sp.Addr:][:n]
}

// Toggle writes a two-byte switch with one store. Switches lie at even addresses, so the store is one access and a thread
// that runs into it sees the old or the new instruction, both of two bytes.
func (s *Segment) Toggle(addr uint64, b [2]byte) {
	mem := s.view(s.spaceAt(addr), addr, 2)
	*(*uint16)(unsafe.Pointer(&mem[0])) = uint16(b[0]) | uint16(b[1])<<8
}

// storeCode writes a word of data among the code of an island, with one store.
func (s *Segment) storeCode(sp *CodeSpace, addr uint64, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&s.view(sp, addr, 8)[0])), v)
}

// Contains reports whether an address lies in an island.
func (s *Segment) Contains(pc uint64) bool {
	for _, i := range s.Islands {
		if pc >= i.Addr && pc < i.Addr+i.Size {
			return true
		}
	}
	return false
}
