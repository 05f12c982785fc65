package daemon

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"

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

// takeStubs finds places for the stubs of a punned site, once.
func (s *site) takeStubs(sp *codeSpace) error {
	if s.stubs != nil || s.Tactic != trampoline.Punned {
		return nil
	}
	for at := s.FirstPunStub(sp.Addr + sp.Size/2); at+stubSize <= sp.Addr+sp.Size; at += 256 {
		if !sp.freeFor(at) {
			continue
		}
		for last := range 256 {
			second, ok := s.PunStub(at, byte(last))
			if !ok || !sp.freeFor(second) || second < at+stubSize && at < second+stubSize {
				continue
			}
			s.stubs = &stubs{stub{at}, stub{second}}
			sp.reserve(at)
			sp.reserve(second)
			s.t.stubs = append(s.t.stubs, addrSpan{at - 1, s.stubs.site.end(), 0}, addrSpan{second - 1, s.stubs.successor.end(), 0})
			return nil
		}
	}
	return &process.Refused{Point: "code at " + hex(s.Addr), Reason: "no trampoline memory where its jump can lead to"}
}

// aim makes the stubs of a site lead to its base trampoline at a room.
func (s *site) aim(sp *codeSpace, b *trampoline.Base, r room) {
	if s.stubs == nil {
		return
	}
	w := b.Way(r.addr)
	if call := s.Host.Call(); call != 0 {
		w.Host = call
	}
	s.t.seg.aim(sp, s.stubs.site, w.Site)
	s.t.seg.aim(sp, s.stubs.successor, w.Host)
}

var nops = [4][]byte{nil, {0x90}, {0x66, 0x90}, {0x0F, 0x1F, 0x00}}

// aim writes a stub; where there is one already, its displacement alone changes, in one store.
func (s *segment) aim(sp *codeSpace, st stub, to uint64) {
	rel := uint32(to - st.end())
	mem := s.code(sp, st.addr, st.pad()+5)
	if mem[st.pad()] != 0xE9 {
		copy(mem, nops[st.pad()])
		mem[st.pad()] = 0xE9
		binary.LittleEndian.PutUint32(mem[st.pad()+1:], rel)
		return
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&mem[st.pad()+1])), rel)
}

// freeFor reports whether nothing is where a stub at addr would be, and no room will be soon.
func (sp *codeSpace) freeFor(addr uint64) bool {
	const spare = 1 << 20
	if addr < sp.Addr+sp.next+spare || addr+stubSize > sp.Addr+sp.Size {
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
