package segment

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"

	"culprit/daemon/arch"
	"culprit/trampoline/planner"
)

// Punned sites cannot jump where we like: their two jumps share bytes. They lead to stubs that lie where they can reach, and the
// Stubs jump to the base trampoline of today. A stub belongs to its site for good, as rooms do.

// A stub is one long jump in an island, behind as many bytes of nop as align its displacement to four: it changes in one store.
type stub struct{ addr uint64 }

// StubSize is the most that a stub takes.
const StubSize = 3 + 5

func (s stub) pad() int    { return int(3-s.addr&3) & 3 }
func (s stub) end() uint64 { return s.addr + uint64(s.pad()) + 5 }

func (s stub) holds(pc uint64) bool { return pc >= s.addr && pc < s.end() }

// IsStub reports whether code that lies at an address of an island, stubSize bytes of it, may be a stub.
func IsStub(addr uint64, code []byte) bool {
	nop := arch.Nops[stub{addr}.pad()]
	return bytes.HasPrefix(code, nop) && code[len(nop)] == arch.Jump
}

// Stubs are those of one punned site: that of its own jump and that of the branch behind it.
type Stubs struct{ site, successor stub }

// Way is how control gets into them.
func (s *Stubs) Way() planner.Way {
	return planner.Way{Site: s.site.addr, Host: s.successor.addr}
}

// Hold tells in which of them an address is.
func (s *Stubs) Hold(pc uint64) (own, successor bool) { return s.site.holds(pc), s.successor.holds(pc) }

// Aim makes the stubs of a site lead where its jump and the branch behind it are to lead.
func (s *Segment) Aim(st *Stubs, to planner.Way) {
	s.aimOne(st.site, to.Site)
	s.aimOne(st.successor, to.Host)
}

// TakeStubs finds places for the stubs of a punned site; ok is false where its jumps can lead to none that is free.
func (sp *CodeSpace) TakeStubs(s *planner.Site) (found *Stubs, ok bool) {
	if found, ok = sp.findStubs(s); ok {
		sp.reserve(found.site.addr)
		sp.reserve(found.successor.addr)
	}
	return found, ok
}

// HasStubs reports whether TakeStubs would find places.
func (sp *CodeSpace) HasStubs(s *planner.Site) bool {
	_, ok := sp.findStubs(s)
	return ok
}

func (sp *CodeSpace) findStubs(s *planner.Site) (found *Stubs, ok bool) {
	end := sp.Addr + sp.Size - StubSize
	for at := s.FirstPunStub(sp.Addr + sp.Size/2); at <= end; at = s.FirstPunStub(at + StubSize) {
		if !sp.freeFor(at) {
			continue
		}
		if second, ok := sp.secondStub(s, at); ok {
			return &Stubs{stub{at}, stub{second}}, true
		}
	}
	return nil, false
}

// secondStub finds a place for the stub of the branch behind a punned site whose own jump leads to first.
func (sp *CodeSpace) secondStub(s *planner.Site, first uint64) (at uint64, ok bool) {
	for _, from := range []uint64{sp.Addr + sp.Size/2, sp.Addr + sp.next + sp.spare()} { // far from where rooms will be, if there is a choice
		for at, ok = s.PunStub(first, from); ok && at+StubSize <= sp.Addr+sp.Size; at, ok = s.PunStub(first, at+1) {
			if sp.freeFor(at) && (at >= first+StubSize || at+StubSize <= first) {
				return at, true
			}
		}
	}
	return 0, false
}

// EachStub calls f for where stubs are: those that find thread blocks and call functions, and those of punned sites.
func (s *Segment) EachStub(f func(lo, hi uint64)) {
	for _, sp := range s.spaces {
		f(sp.slow, sp.stubEnd)
		for _, addr := range sp.stubs {
			f(addr, stub{addr}.end())
		}
	}
}

// aimOne writes a stub; where there is one already, its displacement alone changes, in one store.
func (s *Segment) aimOne(st stub, to uint64) {
	sp := s.spaceAt(st.addr)
	rel := uint32(to - st.end())
	mem := s.view(sp, st.addr, st.pad()+5)
	if mem[st.pad()] != arch.Jump {
		copy(mem, arch.Nops[st.pad()])
		mem[st.pad()] = arch.Jump
		binary.LittleEndian.PutUint32(mem[st.pad()+1:], rel)
		return
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&mem[st.pad()+1])), rel)
}

// spare is how much of an island is left to rooms before stubs may lie there.
func (sp *CodeSpace) spare() uint64 { return min(1<<20, sp.Size/8) }

// freeFor reports whether nothing is where a stub at addr would be, and no room will be soon.
func (sp *CodeSpace) freeFor(addr uint64) bool {
	if addr < sp.Addr+sp.next+sp.spare() || addr+StubSize > sp.Addr+sp.Size {
		return false
	}
	i, _ := slices.BinarySearch(sp.stubs, addr)
	return (i == 0 || sp.stubs[i-1]+StubSize <= addr) && (i == len(sp.stubs) || addr+StubSize <= sp.stubs[i])
}

func (sp *CodeSpace) reserve(addr uint64) {
	i, _ := slices.BinarySearch(sp.stubs, addr)
	sp.stubs = slices.Insert(sp.stubs, i, addr)
}

// skipStubs moves the place for n bytes behind the stubs in its way.
func (sp *CodeSpace) skipStubs(n int) {
	i, _ := slices.BinarySearch(sp.stubs, sp.Addr+sp.next-min(sp.next, StubSize-1))
	for ; i < len(sp.stubs) && sp.stubs[i] < sp.Addr+sp.next+uint64(n); i++ {
		sp.next = roundUp64(sp.stubs[i]+StubSize-sp.Addr, 64)
	}
}

// stubWithin reports whether a stub lies within n bytes at addr.
func (sp *CodeSpace) stubWithin(addr uint64, n int) bool {
	i, _ := slices.BinarySearch(sp.stubs, addr-(StubSize-1))
	return i < len(sp.stubs) && sp.stubs[i] < addr+uint64(n)
}
