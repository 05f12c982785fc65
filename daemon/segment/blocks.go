package segment

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"culprit/daemon/kernel"
	"culprit/trampoline"
)

// Thread blocks as the daemon sees them.

// Claims has a byte for every block, the overflow block included.
func (s *Segment) Claims() []byte {
	return s.data[0].mem[:s.Slots+1]
}

// Scratch gives n bytes, some hundreds at most, that nobody else uses while the target stands still: behind the claims there are free ones up to the
// end of their page.
func (s *Segment) Scratch(n int) (addr uint64, mem []byte) {
	return s.DataAddr + uint64(s.Slots) + 8, s.data[0].mem[s.Slots+8:][:n]
}

// Steps is how many pieces the counters lie in: more than one where the target gets memory as it is needed.
func (s *Segment) Steps() int { return len(s.data) }

// IsLittle reports whether the target gets memory as it is needed, little at first.
func (s *Segment) IsLittle() bool { return s.little }

// word is a word of a block, in the step that its offset says.
func (s *Segment) word(slot int, off int32) *uint64 {
	step, at := int(off)/s.Geometry.Stride(), slot*s.BlockSize+int(off)%s.Geometry.Stride()
	if step == 0 {
		at += claimsSize(s.Geometry)
	}
	return (*uint64)(unsafe.Pointer(&s.data[step].mem[at]))
}

// FileWord is the word of a descriptor in the table of open files.
func (s *Segment) FileWord(fd int) *uint64 {
	return (*uint64)(unsafe.Pointer(&s.data[0].mem[filesOff(s.Geometry)+fd*trampoline.WordSize]))
}

// Load reads a word of a block.
func (s *Segment) Load(slot int, off int32) uint64 { return atomic.LoadUint64(s.word(slot, off)) }

// Store writes a word of a block.
func (s *Segment) Store(slot int, off int32, v uint64) { atomic.StoreUint64(s.word(slot, off), v) }

// SlotOf finds the block of a thread pointer, or claims one as a trampoline would. Only while the target is stopped.
func (s *Segment) SlotOf(threadPointer uint64) int {
	passed, has := s.passed(threadPointer)
	slot := (s.Geometry.Slot(threadPointer) + len(passed)) % s.Slots
	switch {
	case has:
		return slot
	case len(passed) == trampoline.SlotProbes:
		return s.Slots
	}
	s.Store(slot, 0, threadPointer)
	s.Claims()[slot] = 1
	return slot
}

// Used lists the slots that were ever claimed, the overflow block among them. The bytes belong to the target: any non-zero one counts.
func (s *Segment) Used(buf []int) []int {
	claims := s.Claims()
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

// Overflowed reports whether some thread found no block of its own: numbers are then lower bounds.
func (s *Segment) Overflowed() bool { return s.Claims()[s.Slots] != 0 }

// LoadPair reads two words of a block that are changed together.
func (s *Segment) LoadPair(slot int, off int32) (first, second uint64) {
	return kernel.LoadPair((*[2]uint64)(unsafe.Pointer(s.word(slot, off))))
}

// Take reads a word of a block and leaves 0 there.
func (s *Segment) Take(slot int, off int32) uint64 { return atomic.SwapUint64(s.word(slot, off), 0) }

// Thread blocks are claimed by trampolines, by thread pointer, and are not given back by anyone in the target: a thread that
// ends knows nothing of us. Most programs use few pointers again and again, since the C library keeps stacks. Where they do
// not, the blocks of the dead are freed while the target stands still, which is the only time at which the living are known.

// Crowded reports whether, with so many living threads, so many blocks belong to the dead that trampolines may soon find none.
func (s *Segment) Crowded(living int) bool {
	taken := 0
	for _, slot := range s.Used(nil) {
		if s.Load(slot, 0) != 0 {
			taken++
		}
	}
	return taken > s.Slots/2 && taken-living > s.Slots/4
}

// Recycle frees the blocks of dead threads, given the thread pointers of the living and which of them are in trampolines, while the target stands still.
// Sums stay where they are and grow on under the next owner; silence clears what says that a timer runs or that a function is active. A block stays when
// a living thread has passed over it to its own, or may just do so: it would not find its own any more, and get a second one. Of a block that does not
// stay, freed is told the thread pointer.
func (s *Segment) Recycle(live map[uint64]bool, silence func(slot int), freed func(threadPointer uint64)) {
	needed := map[int]bool{}
	for fs, inTrampoline := range live {
		passed, has := s.passed(fs)
		if has || inTrampoline {
			for _, slot := range passed {
				needed[slot] = true
			}
		}
	}
	for _, slot := range s.Used(nil) {
		fs := s.Load(slot, 0)
		if _, lives := live[fs]; lives || slot == s.Slots || fs == 0 {
			continue
		}
		silence(slot)
		if !needed[slot] {
			freed(fs)
			s.Store(slot, 0, 0)
		}
	}
}

// passed lists the slots of others that a thread passes over to its block, or to where it would claim one.
func (s *Segment) passed(threadPointer uint64) (slots []int, has bool) {
	at := s.Geometry.Slot(threadPointer)
	for range trampoline.SlotProbes {
		switch s.Load(at, 0) {
		case threadPointer:
			return slots, true
		case 0:
			return slots, false
		}
		slots = append(slots, at)
		at = (at + 1) % s.Slots
	}
	return slots, false
}
