package daemon

import (
	"testing"
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
)

// TestTwins measures a program and its children, which have the same code at the same addresses: its points are planned once for all of
// them, and what is planned further for one changes nothing for the others.
func TestTwins(t *testing.T) {
	p := startFamily(t, rounds(60, 2000))
	pids := []int{p.PID, longChild(t, p), longChild(t, p)}
	d := attachTo(t, pids...)
	var s sums
	calls := nameOf(t, d, "procedure_calls", "work_all")
	d.mustEnable(t, &s, calls)
	planOnce(t, d, calls)
	time.Sleep(200 * time.Millisecond)
	d.Disable([]grid.PairKey{calls})
	if s.of(calls) == 0 {
		t.Error("the children make no calls")
	}
	for _, pid := range pids {
		detachClean(t, d, pid)
	}
	if n := d.session.Shared.Kept(); n != 0 {
		t.Errorf("plans of %d files are kept for targets that are gone", n)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	p.Stop(t)
}

// planOnce expects that a function of the first two targets has one plan, of which each has a copy.
func planOnce(t *testing.T, d *Daemon, calls grid.PairKey) {
	t.Helper()
	d.lockAll()
	defer d.unlockAll()
	first, second := chosenIn(d.targets[0], calls), chosenIn(d.targets[1], calls)
	if first == nil || second == nil {
		t.Fatal("not one function of that name in each")
	}
	pl, other := d.targets[0].Plans.Of(first), d.targets[1].Plans.Of(second)
	planned, own := pl.Plan().Sites[0], other.Plan().Sites[0]
	if &planned.Insts[0] != &own.Insts[0] {
		t.Error("a child's function was planned again")
	}
	if planned == own {
		t.Error("a parent and its child share a site")
	}
	call := &pcl.Request{Where: pcl.Call}
	pl.Include(call, d.targets[0].Text.Extend)
	if before := pl.Points(call); len(before) == 0 || !pl.Plan().Knows(before[0]) || other.Plan().Knows(before[0]) {
		t.Errorf("calls %v: planned for one %t, for the other %t", before, pl.Plan().Knows(before[0]), other.Plan().Knows(before[0]))
	}
}

// chosenIn is the function that a pair is about; nil if there are more, or none.
func chosenIn(t *measuring.Process, k grid.PairKey) *program.Function {
	e := k.Focus.Elements(grid.Code)
	if ids := t.Function(e[0], e[1]); len(ids) == 1 {
		return t.Func(ids[0])
	}
	return nil
}
