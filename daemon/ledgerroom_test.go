package daemon

import (
	"strings"
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/trampoline"
)

// TestLedgerHasNoRoom asks for more probes than can be noted: none is written, and a smaller batch works.
func TestLedgerHasNoRoom(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000", "1")
	d := attachTo(t, p.PID)
	var s sums
	d.mu.Lock()
	seg := d.targets[0].seg
	seg.ledger = trampoline.NewLedger(seg.code.mem[seg.LedgerOff():][:4*trampoline.EntrySize])
	d.mu.Unlock()
	var keys []grid.PairKey
	for _, n := range []string{"recurse", "tail_first", "tail_second", "tail_last", "deep_jump", "try_jump"} {
		keys = append(keys, key(t, "procedure_calls", "/Code/calls.c/"+n))
	}
	for _, r := range d.Enable(keys, &s) {
		if r.Err == nil || !strings.Contains(r.Err.Error(), "choose fewer") {
			t.Errorf("%s: %v", r.Key, r.Err)
		}
	}
	if n := d.Probes().Inserted; n != 0 {
		t.Errorf("%d sites were patched", n)
	}
	d.mustEnable(t, &s, keys[:2]...)
	detachClean(t, d, p.PID)
	p.Stop(t)
}
