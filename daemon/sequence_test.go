package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// TestSequencesStay: no site of a program changes or moves what one of its restartable sequences needs, and what needs none of that is
// measured in the functions that have some.
func TestSequencesStay(t *testing.T) {
	for _, flags := range [][]string{{"-pthread"}, {"-pthread", "-no-pie", "-fno-pie"}, {"-pthread", "-static-pie"}} {
		o := openObject(t, testprog.Build(t, "testdata/odd/percpu.c", flags...))
		for name, want := range map[string]bool{"far_add": true, "near_add": true, "last_add": false} {
			fns := o.Named(name)
			if len(fns) != 1 {
				t.Fatalf("%v: %d functions %s", flags, len(fns), name)
			}
			f := &program.Function{ID: pcl.FuncID(fns[0].Addr), Obj: o, Fn: fns[0]}
			pl := newCodePlan(o, nil, false).funcPlan(f)
			pl.analyse()
			if pl.reason != "" {
				t.Fatalf("%v: %s: %s", flags, name, pl.reason)
			}
			for _, s := range pl.plan.Sites {
				if o.InSequence(s.Addr, s.End()) || s.Host != nil && o.InSequence(s.Host.Addr, s.Host.End()) {
					t.Errorf("%v: %s: the site at %#x moves or changes what is in a sequence", flags, name, s.Addr)
				}
			}
			if _, refused := pl.plan.SiteOf(pl.points[pcl.Entry][0]); refused != nil {
				t.Errorf("%v: %s: %v", flags, name, refused)
			}
			for _, pt := range pl.points[pcl.Return] {
				_, refused := pl.plan.SiteOf(pt)
				if (refused == nil) != want || refused != nil && !strings.Contains(refused.Reason, "restartable sequence") {
					t.Errorf("%v: %s returns at %#x: %v; want it to be reached: %v", flags, name, pt.Addr, refused, want)
				}
			}
		}
	}
}

// TestSequencesThatAreMadeLate: a sequence that no file tells of, and that nobody was in when its function was patched, gets its code back
// once a stop shows it; nobody patches it again.
func TestSequencesThatAreMadeLate(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/madeseq.c", "-pthread"), "late")
	d := attachTo(t, p.PID)
	var s sums
	spent := key(t, "exec_time_inclusive", "/Code/madeseq.c/made_add")
	d.mustEnable(t, &s, spent)
	patched := func() (n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
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
