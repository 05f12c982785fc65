package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestSequencesThatAreMadeLate: a sequence that no file tells of, and that nobody was in when its function was patched, gets its code back
// once a stop shows it; nobody patches it again.
func TestSequencesThatAreMadeLate(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/madeseq.c", "-pthread"), "late")
	d := attachTo(t, p.PID)
	var s sums
	spent := key(t, "exec_time_inclusive", "/Code/madeseq.c/made_add")
	d.mustEnable(t, &s, spent)
	patched := func() (n int) {
		d.lockAll()
		defer d.unlockAll()
		tg := d.targets[0]
		for _, id := range tg.Function("madeseq.c", "made_add") {
			for _, s := range tg.Text.Sites() {
				if s.Patched() && tg.FunctionAt(s.Addr) == tg.Func(id) {
					n++
				}
			}
		}
		return n
	}
	if n := patched(); n != 2 {
		t.Fatalf("%d sites are in made_add before anybody uses it, want 2", n)
	}
	p.Say(t, "go")
	for end := time.Now().Add(20 * time.Second); patched() > 0; {
		if time.Now().After(end) {
			t.Fatal("made_add is still patched")
		}
		calls := key(t, "procedure_calls", "/Code/madeseq.c/add_one")
		d.mustEnable(t, &s, calls) // stops the target
		time.Sleep(300 * time.Millisecond)
		d.Disable([]grid.PairKey{calls})
	}
	for _, r := range d.Enable([]grid.PairKey{key(t, "procedure_calls", "/Code/madeseq.c/made_add")}, &s) {
		if r.Err == nil || !strings.Contains(r.Err.Error(), "restartable sequence") {
			t.Errorf("patched again: %v", r.Err)
		}
	}
	detachClean(t, d, p.PID)
}
