package sites_test

import (
	"errors"
	"strings"
	"testing"

	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/sites"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// lookedAt is a target of a program that nobody may stop or write to.
func lookedAt(t *testing.T, source string, flags ...string) *target.Target {
	t.Helper()
	p := testprog.StartTarget(t, testprog.Build(t, source, flags...))
	proc, err := process.Look(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		proc.Close()
		p.Stop(t)
	})
	tg := target.New(&target.Session{Tree: grid.NewTree(), Log: func(text string) { t.Log(text) }})
	if err := tg.Open(proc, &program.Files{}, target.Hooks{}); err != nil {
		t.Fatal(err)
	}
	return tg
}

// named is the function of a name.
func named(t *testing.T, tg *target.Target, name string) *program.Function {
	t.Helper()
	ids := tg.Named(name)
	if len(ids) != 1 {
		t.Fatalf("%d functions %s", len(ids), name)
	}
	return tg.Func(ids[0])
}

// TestAsksWithoutTouching: of a process that has no room for trampolines, and that may not be stopped, a Finder tells what the code says, and
// refuses every point.
func TestAsksWithoutTouching(t *testing.T) {
	tg := lookedAt(t, "daemon/testdata/tails.c", "-O2")
	f := tg.Sites
	for name, want := range map[string]sites.Jumps{
		"leaf": {Exits: 1}, "yields": {Count: 1, Exits: 1, To: []string{"sched_yield"}}, "through": {Count: 1, Exits: 1},
		"wrap": {Count: 1, Exits: 2, To: []string{"leaf"}}, // which no trampoline reaches
	} {
		got := f.JumpsAway(named(t, tg, name))
		if name == "yields" && len(got.To) == 1 && strings.HasSuffix(got.To[0], "sched_yield") {
			got.To = want.To
		}
		if got.Count != want.Count || got.Exits != want.Exits || strings.Join(got.To, " ") != strings.Join(want.To, " ") {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	leaf := named(t, tg, "leaf")
	if f.OutOfReach(leaf) {
		t.Error("leaf is out of reach of any plan")
	}
	returns := &pcl.Request{Func: leaf.ID, Where: pcl.Return}
	if f.NeverComesBack(returns) || len(f.Landings(returns)) > 0 {
		t.Error("leaf never returns, or is left otherwise")
	}
	var refused *process.Refused
	if err := f.Check(returns); !errors.As(err, &refused) || refused.Point != "leaf" || !strings.Contains(refused.Reason, "no room for trampolines") {
		t.Errorf("without room: %v", err)
	}
	wrap := named(t, tg, "wrap")
	reads := &pcl.Request{Func: wrap.ID, Where: pcl.Return, Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: &pcl.Expr{Op: pcl.ExReturn}}}}
	var later *pcl.NoResult
	if err := f.Check(reads); !errors.As(err, &later) || later.Function != "wrap" || later.Jumps != 1 || later.Exits != 2 || len(later.To) != 1 || later.To[0] != "leaf" {
		t.Errorf("of a result that comes later: %v", err)
	}
	if err := f.Check(&pcl.Request{Func: 16, Where: pcl.Entry}); !errors.As(err, &refused) || refused.Point != "0x10" {
		t.Errorf("where no function is: %v", err)
	}
	if n := tg.Stops.Count(); n != 0 {
		t.Errorf("it was stopped %d times", n)
	}
}

// TestFindsPlaces: the places of a request are at its points, in order.
func TestFindsPlaces(t *testing.T) {
	tg := lookedAt(t, "daemon/testdata/tails.c", "-O2")
	main := named(t, tg, "main")
	for _, r := range []*pcl.Request{{Where: pcl.Entry}, {Where: pcl.Return}} {
		r.Func = main.ID
		places, err := tg.Sites.Find(r)
		points := tg.Plans.Of(main).Points(r)
		if err != nil || len(places) != len(points) || len(points) == 0 {
			t.Fatalf("%s: %d places of %d points, %v", r.Where, len(places), len(points), err)
		}
		for i, at := range places {
			if at.Func != main || at.Point.Point != points[i] || !at.Site.Serves(points[i]) || !tg.Sites.Serves(at.Site, r) {
				t.Errorf("%s: %+v", r.Where, at)
			}
		}
	}
	var refused *process.Refused
	if _, err := tg.Sites.Find(&pcl.Request{Func: main.ID, Where: pcl.Call, Site: 1000}); !errors.As(err, &refused) || refused.Reason != "a call site is missing" {
		t.Errorf("a call that is not there: %v", err)
	}
}
