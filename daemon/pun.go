package daemon

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"unsafe"

	"culprit/daemon/arch"
	"culprit/daemon/process"
	"culprit/trampoline"
)

// Punned sites cannot jump where we like: their two jumps share bytes. They lead to stubs that lie where they can reach, and the
// stubs jump to the base trampoline of today. A stub belongs to its site for good, as rooms do.

// A stub is one long jump in an island, behind as many bytes of nop as align its displacement to four: it changes in one store.
type stub struct{ addr uint64 }

// stubSize is the most that a stub takes.
const stubSize = 3 + 5

func (s stub) pad() int    { return int(3-s.addr&3) & 3 }
func (s stub) end() uint64 { return s.addr + uint64(s.pad()) + 5 }

// stubs are those of one punned site: that of its own jump and that of the branch behind it.
type stubs struct{ site, successor stub }

// way is how control gets into the site's base trampoline at a room.
func (s *site) way(b *trampoline.Base, r room) trampoline.Way {
	if s.stubs == nil {
		return b.Way(r.addr)
	}
	return trampoline.Way{Site: s.stubs.site.addr, Host: s.stubs.successor.addr}
}

// roomToPun reports why a point whose site is punned cannot be reached: both jumps lead to few places, and in rare layouts of memory all
// of them are taken. Else the places are the site's from now on.
func (t *target) roomToPun(f *function, pt trampoline.Point) error {
	if planned, _ := f.plan.SiteOf(pt); planned.Tactic != trampoline.Punned {
		return nil
	}
	s, err := t.siteOf(f, pt)
	if err == nil {
		if sp := t.reachIsland(s.Addr); sp == nil {
			err = &process.Refused{Reason: "no room for trampolines within 2 GiB of it"}
		} else {
			err = s.takeStubs(sp)
		}
	}
	var refused *process.Refused
	if errors.As(err, &refused) {
		return &process.Refused{Point: f.fn.Name + ", " + pt.Kind.String(), Reason: refused.Reason}
	}
	return err
}

// takeStubs finds places for the stubs of a punned site, once.
func (s *site) takeStubs(sp *codeSpace) error {
	if s.stubs != nil || s.Tactic != trampoline.Punned {
		return nil
	}
	end := sp.Addr + sp.Size - stubSize
	for at := s.FirstPunStub(sp.Addr + sp.Size/2); at <= end; at = s.FirstPunStub(at + stubSize) {
		if !sp.freeFor(at) {
			continue
		}
		if second, ok := s.secondStub(sp, at); ok {
			s.reserveStubs(sp, stub{at}, stub{second})
			return nil
		}
	}
	return &process.Refused{Point: "code at " + hex(s.Addr), Reason: "no trampoline memory where its jump can lead to"}
}

// secondStub finds a place for the stub of the branch behind a punned site whose own jump leads to first.
func (s *site) secondStub(sp *codeSpace, first uint64) (at uint64, ok bool) {
	for _, from := range []uint64{sp.Addr + sp.Size/2, sp.Addr + sp.next + sp.spare()} { // far from where rooms will be, if there is a choice
		for at, ok = s.PunStub(first, from); ok && at+stubSize <= sp.Addr+sp.Size; at, ok = s.PunStub(first, at+1) {
			if sp.freeFor(at) && (at >= first+stubSize || at+stubSize <= first) {
				return at, true
			}
		}
	}
	return 0, false
}

func (s *site) reserveStubs(sp *codeSpace, first, second stub) {
	s.stubs = &stubs{first, second}
	for _, st := range []stub{first, second} {
		sp.reserve(st.addr)
		s.t.stubs = append(s.t.stubs, addrSpan{st.addr - 1, st.end(), 0})
	}
}

// aim makes the stubs of a site lead to its base trampoline at a room.
func (s *site) aim(b *trampoline.Base, r room) {
	if s.stubs == nil {
		return
	}
	w := b.Way(r.addr)
	if call := s.Host.Call(); call != 0 {
		w.Host = call
	}
	s.t.seg.aim(s.stubs.site, w.Site)
	s.t.seg.aim(s.stubs.successor, w.Host)
}

// aim writes a stub; where there is one already, its displacement alone changes, in one store.
func (s *segment) aim(st stub, to uint64) {
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
func (sp *codeSpace) spare() uint64 { return min(1<<20, sp.Size/8) }

// freeFor reports whether nothing is where a stub at addr would be, and no room will be soon.
func (sp *codeSpace) freeFor(addr uint64) bool {
	if addr < sp.Addr+sp.next+sp.spare() || addr+stubSize > sp.Addr+sp.Size {
		return false
	}
	i, _ := slices.BinarySearch(sp.stubs, addr)
	return (i == 0 || sp.stubs[i-1]+stubSize <= addr) && (i == len(sp.stubs) || addr+stubSize <= sp.stubs[i])
}

func (sp *codeSpace) reserve(addr uint64) {
	i, _ := slices.BinarySearch(sp.stubs, addr)
	sp.stubs = slices.Insert(sp.stubs, i, addr)
}

// skipStubs moves the place for n bytes behind the stubs in its way.
func (sp *codeSpace) skipStubs(n int) {
	i, _ := slices.BinarySearch(sp.stubs, sp.Addr+sp.next-min(sp.next, stubSize-1))
	for ; i < len(sp.stubs) && sp.stubs[i] < sp.Addr+sp.next+uint64(n); i++ {
		sp.next = roundUp64(sp.stubs[i]+stubSize-sp.Addr, 64)
	}
}

// stubWithin reports whether a stub lies within n bytes at addr.
func (sp *codeSpace) stubWithin(addr uint64, n int) bool {
	i, _ := slices.BinarySearch(sp.stubs, addr-(stubSize-1))
	return i < len(sp.stubs) && sp.stubs[i] < addr+uint64(n)
}

// outOfStub puts a thread that is in a stub of a punned site back to the instruction that it was about to do.
func (s *site) outOfStub(pc uint64) (orig uint64, ok bool) {
	if s.stubs == nil {
		return 0, false
	}
	if st := s.stubs.site; pc >= st.addr && pc < st.end() {
		return s.Addr, true
	}
	if st := s.stubs.successor; pc >= st.addr && pc < st.end() {
		if call := s.Host.Call(); call != 0 {
			return call, true // its return address is on the stack
		}
		return s.Host.Addr, true
	}
	return 0, false
}
