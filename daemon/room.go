package daemon

import (
	"bytes"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// Memory for base trampolines. It belongs to a site for good: a child that was forked while the site was patched jumps there as
// long as it lives, whatever has become of the site in its parent, and finds its way back to its own code. In it the gate is
// closed, so that it runs only in the part that is the same in every version of the site's trampoline (Base.Fixed); a new
// version therefore may take the place of an old one, but never that of another site's.

// A room is memory for one version of a site's base trampoline.
type room struct {
	space *codeSpace
	addr  uint64
	size  int
	fixed int // what children may run in, and what is written only once
}

// roomSize rounds a length up, so that the next version probably fits: to a power of two or one and a half times that.
func roomSize(n int) int {
	size := 64
	for size < n {
		if size+size/2 >= n && size >= 128 {
			return size + size/2
		}
		size *= 2
	}
	return size
}

// likelyRoom is where takeRoom will probably find memory.
func (s *site) likelyRoom(sp *codeSpace) uint64 {
	for _, r := range s.spare {
		if r.space == sp {
			return r.addr
		}
	}
	sp.apart(1)
	return sp.Addr + sp.next
}

// takeRoom finds memory for n bytes: what an earlier version of the site's trampoline has left, or new memory.
func (s *site) takeRoom(sp *codeSpace, n int) (room, error) {
	for i, r := range s.spare {
		if r.space == sp && r.size >= n {
			s.spare = append(s.spare[:i], s.spare[i+1:]...)
			return r, nil
		}
	}
	size := roomSize(n)
	addr, ok := sp.alloc(size)
	if !ok {
		return room{}, &process.Refused{Point: "code at " + hex(s.Addr), Reason: "the trampoline memory near it is full"}
	}
	return room{space: sp, addr: addr, size: size}, nil
}

// giveRoom takes memory back that no thread of the target is in. What children may run in as it is stays as it is.
func (s *site) giveRoom(r room) {
	if r.fixed > 0 {
		s.spare = append(s.spare, r)
	}
}

// fill writes a base trampoline into its room. Of one that was used before, the part that children may run in is not written
// again; its switch is put on with one store.
func (s *site) fill(r *room, b *trampoline.Base) {
	seg := s.t.seg
	mem := seg.view(r.space, r.addr, len(b.Code))
	if r.fixed > 0 {
		same := r.fixed == b.Fixed && bytes.Equal(mem[:b.Switch], b.Code[:b.Switch]) && bytes.Equal(mem[b.Switch+2:b.Fixed], b.Code[b.Switch+2:b.Fixed])
		if !same {
			panic("BUG: two versions of a base trampoline begin differently")
		}
	}
	copy(mem[r.fixed:], b.Code[r.fixed:])
	seg.toggle(r.space, r.addr+uint64(b.Switch), b.On(b.Switch))
	r.fixed = b.Fixed
}
