package daemon

import (
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline/planner"
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
	if n := len(d.twins.placed); n != 0 {
		t.Errorf("plans of %d files are kept for targets that are gone", n)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	p.Stop(t)
}

// planOnce expects that a function of the first two targets has one plan, of which each has a copy.
func planOnce(t *testing.T, d *Daemon, calls grid.PairKey) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	first, second := d.targets[0].chosen(calls), d.targets[1].chosen(calls)
	if first == nil || second == nil {
		t.Fatal("not one function of that name in each")
	}
	pl, other := d.targets[0].funcPlan(first), d.targets[1].funcPlan(second)
	planned, own := pl.plan.Sites[0], other.plan.Sites[0]
	if &planned.Insts[0] != &own.Insts[0] {
		t.Error("a child's function was planned again")
	}
	if planned == own {
		t.Error("a parent and its child share a site")
	}
	d.targets[0].planCalls(pl)
	if before := pl.points[pcl.Call]; len(before) == 0 || !pl.plan.Knows(before[0]) || other.plan.Knows(before[0]) {
		t.Errorf("calls %v: planned for one %t, for the other %t", before, pl.plan.Knows(before[0]), other.plan.Knows(before[0]))
	}
}

// TestTwinsPadding plans a function alike in two processes, unless the padding that it needs has been taken for another one there.
func TestTwinsPadding(t *testing.T) {
	p := startFamily(t, 1)
	d := attachTo(t, p.PID, longChild(t, p))
	d.mu.Lock()
	defer d.mu.Unlock()
	free, taken := false, false
	for _, f := range d.targets[0].inPadding(t) {
		pad := padOf(d.targets[0].funcPlan(f))
		g := d.targets[1].FunctionAt(f.Addr())
		pl := d.targets[1].funcPlan(g)
		if !free {
			if pl.analyse(); padOf(pl) != pad {
				t.Errorf("%s goes by the padding at %#x, and in the child by that at %#x", f.Fn.Name, pad, padOf(pl))
			}
			free = true
			continue
		}
		pl.of.takePad(pad + padJump - g.Obj.Bias)
		if pl.analyse(); padOf(pl) == pad {
			t.Errorf("%s goes by the padding at %#x, which is taken", f.Fn.Name, pad)
		}
		taken = true
		break
	}
	if !free || !taken {
		t.Fatal("no two functions of the C library go by padding")
	}
}

// chosen is the function that a pair is about; nil if there are more, or none.
func (t *measured) chosen(k grid.PairKey) *program.Function {
	e := k.Focus.Elements(grid.Code)
	if ids := t.Function(e[0], e[1]); len(ids) == 1 {
		return t.Func(ids[0])
	}
	return nil
}

// inPadding are functions of the C library whose entry or exit goes by padding nearby.
func (t *measured) inPadding(tt *testing.T) (fns []*program.Function) {
	tt.Helper()
	for _, o := range t.Objects() {
		if !libc.IsC(o.Name) {
			continue
		}
		for _, id := range t.Know(o, o.Functions()) {
			pl := t.planned(t.Func(id))
			if pl.reason == "" && padOf(pl) != 0 {
				fns = append(fns, pl.f)
			}
		}
	}
	return fns
}

// padOf is where the first padding is that a function goes by; 0 if it needs none.
func padOf(pl *funcPlan) uint64 {
	for _, s := range pl.plan.Sites {
		if s.Tactic == planner.Short {
			return s.Pad.Addr
		}
	}
	return 0
}
