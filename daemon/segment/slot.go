package segment

import (
	"bytes"

	"culprit/trampoline"
)

// Memory for base trampolines. It belongs to a site for good: a child that was forked while the site was patched jumps there as
// long as it lives, whatever has become of the site in its parent, and finds its way back to its own code. In it the gate is
// closed, so that it runs only in the part that is the same in every version of the site's trampoline (Base.Fixed); a new
// version therefore may take the place of an old one, but never that of another site's.

// A Room is memory for one version of a site's base trampoline.
type Room struct {
	space *CodeSpace
	Addr  uint64
	Size  int
	fixed int // what children may run in, and what is written only once
}

// Leave has what is in the room stay as it is, whatever comes: it is not used again.
func (r *Room) Leave() { r.fixed = 0 }

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

// Rooms are the memory of one site, besides that in which its trampoline of today is.
type Rooms struct {
	spare []Room // where it was
}

// Likely is where take will probably find memory.
func (s *Rooms) Likely(sp *CodeSpace) uint64 {
	for _, r := range s.spare {
		if r.space == sp {
			return r.Addr
		}
	}
	sp.apart(1)
	return sp.Addr + sp.next
}

// Take finds memory for n bytes: what an earlier version of the site's trampoline has left, or new memory. ok is false where there is none.
func (s *Rooms) Take(sp *CodeSpace, n int) (r Room, ok bool) {
	for i, r := range s.spare {
		if r.space == sp && r.Size >= n {
			s.spare = append(s.spare[:i], s.spare[i+1:]...)
			return r, true
		}
	}
	size := roomSize(n)
	addr, ok := sp.alloc(size)
	return Room{space: sp, Addr: addr, Size: size}, ok
}

// Give takes memory back that no thread of the target is in. What children may run in as it is stays as it is.
func (s *Rooms) Give(r Room) {
	if r.fixed > 0 {
		s.spare = append(s.spare, r)
	}
}

// Has reports whether there is memory that an earlier version has left.
func (s *Rooms) Has() bool { return len(s.spare) > 0 }

// Fill writes a base trampoline into its room. Of one that was used before, the part that children may run in is not written
// again; its switch is put on with one store.
func (s *Segment) Fill(r *Room, b *trampoline.Base) {
	mem := s.view(r.space, r.Addr, len(b.Code))
	if r.fixed > 0 {
		same := r.fixed == b.Fixed && bytes.Equal(mem[:b.Switch], b.Code[:b.Switch]) && bytes.Equal(mem[b.Switch+2:b.Fixed], b.Code[b.Switch+2:b.Fixed])
		if !same {
			panic("BUG: two versions of a base trampoline begin differently")
		}
	}
	copy(mem[r.fixed:], b.Code[r.fixed:])
	s.Toggle(r.Addr+uint64(b.Switch), b.On(b.Switch))
	r.fixed = b.Fixed
}
