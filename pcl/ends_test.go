package pcl

import (
	"slices"
	"testing"
)

func TestEnds(t *testing.T) {
	leave := []Instr{{Op: OpFlagLeave, Var: 1, Cond: &Expr{Op: ExReturn}}, {Op: OpTimerLeave}}
	counts := append(slices.Clone(leave), Instr{Op: OpAdd, Expr: &Expr{Value: 1}})
	for _, c := range []struct {
		r          Request
		only, ends bool
		left       int
		name       string
	}{
		{Request{Where: Return, Code: leave}, true, true, 2, "leaves at a return"},
		{Request{Where: LoopExit, Code: leave}, true, false, 2, "leaves at the exit of a loop"},
		{Request{Where: Call, Code: leave}, true, false, 0, "leaves at a call"},
		{Request{Where: Return, Code: counts}, false, false, 2, "leaves, and counts"},
		{Request{Where: Entry, Code: counts}, false, false, 0, "at an entry"},
	} {
		left := c.r.Ends().Code
		if c.r.OnlyEnds() != c.only || c.r.EndsActivations() != c.ends || len(left) != c.left {
			t.Errorf("%s: %v, %v, %+v", c.name, c.r.OnlyEnds(), c.r.EndsActivations(), left)
		}
		if slices.ContainsFunc(left, func(in Instr) bool { return in.Cond != nil || in.Op == OpAdd }) {
			t.Errorf("%s: %+v depends on something, or counts", c.name, left)
		}
	}
}
