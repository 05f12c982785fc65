package segment

import (
	"slices"
	"testing"

	"culprit/trampoline"
)

// TestRecycle: the block of a dead thread is freed, but not where a living thread has passed over it, or is about to.
func TestRecycle(t *testing.T) {
	s := &Segment{}
	s.Geometry = trampoline.Geometry{Slots: 256, BlockSize: 1 << 8}
	s.data = []*area{{mem: make([]byte, claimsSize(s.Geometry)+s.Geometry.DataSize())}}
	var same []uint64 // thread pointers whose search begins at one slot
	for fs := uint64(0x7f0000000000); len(same) < 5; fs += 64 {
		if s.Geometry.Slot(fs) == 100 {
			same = append(same, fs)
		}
	}
	for i, fs := range same[:4] {
		if slot := s.SlotOf(fs); slot != 100+i {
			t.Fatalf("block %d is at %d", i, slot)
		}
	}
	far := uint64(0x7e0000000000)
	for s.Geometry.Slot(far) != 200 {
		far += 64
	}
	s.SlotOf(far)
	recycle := func(live map[uint64]bool) (silenced []int, freed []uint64) {
		s.Recycle(live, func(slot int) { silenced = append(silenced, slot) }, func(fs uint64) { freed = append(freed, fs) })
		return silenced, freed
	}
	silenced, freed := recycle(map[uint64]bool{same[1]: false, same[4]: true}) // the last may be looking for its block, and have passed over the others
	if !slices.Equal(silenced, []int{100, 102, 103, 200}) || !slices.Equal(freed, []uint64{far}) {
		t.Errorf("silent are %v, freed are the blocks of %x", silenced, freed)
	}
	if _, freed = recycle(map[uint64]bool{same[1]: false, same[4]: false}); !slices.Equal(freed, []uint64{same[2], same[3]}) || s.SlotOf(same[1]) != 101 {
		t.Errorf("freed are the blocks of %x; the living thread has %d", freed, s.SlotOf(same[1]))
	}
	if _, freed = recycle(nil); !slices.Equal(freed, []uint64{same[0], same[1]}) {
		t.Errorf("freed are the blocks of %x", freed)
	}
}
