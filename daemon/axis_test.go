package daemon

import (
	"slices"
	"testing"

	"culprit/internal/testprog"
)

// TestCalleesAreRemembered: what a function calls is looked up once, and again when something was mapped or unmapped.
func TestCalleesAreRemembered(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/dispatch.c"))
	d := attachTo(t, p.PID)
	d.mu.Lock()
	tg := d.targets[0]
	id := tg.Function("dispatch.c", "main")[0]
	tg.calleesOf(id)
	f := tg.funcs[id]
	want := slices.Clone(f.calls)
	f.calls = nil
	tg.calleesOf(id)
	remembered := f.calls == nil
	tg.changes++
	tg.calleesOf(id)
	anew := f.calls
	d.mu.Unlock()
	if len(want) == 0 || !remembered || !slices.Equal(anew, want) {
		t.Errorf("main calls %v, remembered: %v, and looked up again %v", want, remembered, anew)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
