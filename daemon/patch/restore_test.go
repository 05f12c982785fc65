package patch

import (
	"slices"
	"testing"

	"culprit/daemon/process"
)

// TestJoined unmaps what lies side by side with one call, in the order given: the head, which leads to the rest, comes last.
func TestJoined(t *testing.T) {
	at := func(lo, hi process.Addr) process.Mapping { return process.Mapping{Start: lo, End: hi} }
	got := joined([]process.Mapping{at(0x5000, 0x6000), at(0x6000, 0x9000), at(0xa000, 0xb000), at(0x4000, 0x5000)})
	want := []process.Mapping{at(0x5000, 0x9000), at(0xa000, 0xb000), at(0x4000, 0x5000)}
	if !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
