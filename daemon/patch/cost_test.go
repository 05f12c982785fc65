package patch

import (
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// TestPurse: what is left is looked at again when a part of it was taken, or some time has passed, and not for each small batch.
func TestPurse(t *testing.T) {
	now := time.Now()
	p := purse{looked: now, left: 800 << 20}
	if p.stale(now, 1<<20) || !p.stale(now.Add(2*lookAfter), 1<<20) || !p.stale(now, 101<<20) {
		t.Error("a look is taken for good, or for nothing")
	}
	p.taken = 100 << 20
	if !p.stale(now, 1) {
		t.Error("what was taken is not seen")
	}
	for _, c := range []struct {
		left, taken, need uint64
		ok                bool
	}{
		{process.Unlimited, 1 << 40, 1 << 40, true}, {0, 0, 0, true}, {segment.LeastMemory, 0, 1, false}, {3 << 20, 0, 1 << 20, true},
		{3 << 20, 0, 1<<20 + 1, false}, {3 << 20, 1 << 20, 1 << 20, false}, {1 << 20, 2 << 20, 4096, false},
	} {
		p := purse{left: c.left, taken: c.taken, limit: "memory.max"}
		if err := p.allows(c.need); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
