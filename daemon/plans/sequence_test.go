package plans

import (
	"strings"
	"testing"

	"culprit/daemon/program"
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
			pl := &Function{Function: f, of: &object{Object: o}}
			pl.Make()
			if pl.reason != "" {
				t.Fatalf("%v: %s: %s", flags, name, pl.reason)
			}
			for _, s := range pl.plan.Sites {
				if o.InSequence(s.Addr, s.End()) || s.Host != nil && o.InSequence(s.Host.Addr, s.Host.End()) {
					t.Errorf("%v: %s: the site at %#x moves or changes what is in a sequence", flags, name, s.Addr)
				}
			}
			if _, refused := pl.plan.SiteOf(pl.Entry()[0]); refused != nil {
				t.Errorf("%v: %s: %v", flags, name, refused)
			}
			for _, pt := range pl.Exits() {
				_, refused := pl.plan.SiteOf(pt)
				if (refused == nil) != want || refused != nil && !strings.Contains(refused.Reason, "restartable sequence") {
					t.Errorf("%v: %s returns at %#x: %v; want it to be reached: %v", flags, name, pt.Addr, refused, want)
				}
			}
		}
	}
}
