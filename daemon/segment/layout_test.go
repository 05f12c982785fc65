package segment

import (
	"strings"
	"testing"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// TestNothingIsAffordable: a target of whose address space probes would take more than a hundredth of what is left is not patched; the reason says so.
func TestNothingIsAffordable(t *testing.T) {
	l := littleLayout(1)
	if err := l.within(99*l.size(), "limit of address space"); err == nil || !strings.Contains(err.Error(), "limit of address space") {
		t.Errorf("too little room: %v", err)
	}
	if err := l.within(101*l.size(), "x"); err != nil {
		t.Error(err)
	}
	for _, threads := range []int{1, 64, 128} {
		if l := littleLayout(threads); l.Slots*l.BlockSize > MostAtOnce || l.BlockSize < FirstCell+trampoline.TableSize || l.size() > 2*MostAtOnce {
			t.Errorf("%d threads: %+v, %d KiB", threads, l, l.size()>>10)
		}
	}
}

// TestMappingsLeft: what a program keeps for itself is a part of what it may have.
func TestMappingsLeft(t *testing.T) {
	for _, c := range []struct {
		has, most uint64
		ok        bool
	}{
		{100, 65530, true}, {65530, 65530, false}, {65530 - mostMappings - 655, 65530, true}, {65530 - mostMappings - 654, 65530, false},
		{70000, 65530, false}, {1 << 20, process.Unlimited, true},
	} {
		if err := mappingsLeft(c.has, c.most); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
