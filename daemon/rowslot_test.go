package daemon

import (
	"math/rand/v2"
	"testing"

	"culprit/daemon/threadstats"
	"culprit/trampoline"
)

// TestRowsAreLookedForWhereTrampolinesLook holds two hash functions together that are written down in two rooms: the kernel side puts
// a thread's row where the target's code begins to look for it.
func TestRowsAreLookedForWhereTrampolinesLook(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, slots := range []int{64, 2048, 4096, 65536} {
		g := trampoline.Geometry{Slots: slots}
		for range 10_000 {
			tp := r.Uint64() >> 16 &^ 63
			if got, want := threadstats.FirstSlot(tp, slots), g.Slot(tp); got != want {
				t.Fatalf("thread pointer %#x of %d: row %d, block %d", tp, slots, got, want)
			}
		}
	}
}

// TestRowsAreLaidOutAsTrampolinesReadThem holds the words of a row that trampolines read against those that the kernel side writes.
func TestRowsAreLaidOutAsTrampolinesReadThem(t *testing.T) {
	if threadstats.RowSize != trampoline.RowSize || threadstats.KeyOff != 0 || threadstats.SinceOff != trampoline.RowSince || threadstats.WokenOff != trampoline.RowWoken || threadstats.FilteredBit != trampoline.RowFiltered {
		t.Errorf("rows of %d bytes, words at %d, %d and %d, bit %d; trampolines: %d, 0, %d and %d, bit %d", threadstats.RowSize, threadstats.KeyOff, threadstats.SinceOff, threadstats.WokenOff, threadstats.FilteredBit,
			trampoline.RowSize, trampoline.RowSince, trampoline.RowWoken, trampoline.RowFiltered)
	}
}
