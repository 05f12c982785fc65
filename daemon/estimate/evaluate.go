package estimate

import (
	"culprit/daemon/sampling"
	"culprit/pcl"
)

// A stack says what the code of a plan would have left behind: every activation on it has run what stands at its entry, and what
// stands before the call that it is in. What ran in calls that have returned is undone by what runs behind them. This is what
// catch-up does in the cells of a thread where there are probes, here for one sample.

// An evaluation is the state of the variables of a plan: whether timers run, and what flags hold.
type evaluation struct {
	x    *sampling.Sample
	vars []int64
}

// maxVars bounds the variables that are kept without an allocation.
const maxVars = 16

// Runs reports whether the metric's timer runs at a sample, whatever thread it is of.
func (m *Meter) Runs(x *sampling.Sample) bool {
	if m.isWhole() {
		return true
	}
	vars := len(m.plan.Vars)
	var room [maxVars]int64
	r := evaluation{x: x, vars: room[:]}
	if vars > maxVars {
		r.vars = make([]int64, vars)
	}
	for i := len(x.Frames) - 1; i >= 0; i-- {
		f := x.Frames[i].Func
		if f == nil || len(m.code[f.ID]) == 0 {
			continue
		}
		for _, q := range m.code[f.ID] {
			if q.Where == pcl.Entry {
				r.run(q, i)
			}
		}
		if i == 0 {
			break
		}
		for _, q := range m.code[f.ID] {
			if q.Where == pcl.Call && !q.Post && f.CallsFrom(q.Site, x.Frames[i].PC) {
				r.run(q, i)
			}
		}
	}
	return r.vars[0] != 0
}

// run does what one request would have done in frame i.
func (r *evaluation) run(q *pcl.Request, i int) {
	for _, g := range q.Guards {
		if r.vars[g] == 0 {
			return
		}
	}
	for _, in := range q.Code {
		if in.Cond != nil && (i != 0 || !r.x.Blocked || r.value(in.Cond) == 0) {
			continue
		}
		switch in.Op {
		case pcl.OpFlagEnter, pcl.OpTimerEnter, pcl.OpTimerStart:
			r.vars[in.Var] = 1
		case pcl.OpFlagLeave, pcl.OpTimerLeave, pcl.OpTimerStop:
			r.vars[in.Var] = 0
		case pcl.OpSet:
			if in.Expr != nil {
				r.vars[in.Var] = in.Expr.Value
			}
		}
	}
}

// value evaluates an expression over the arguments of the C library's syscall: the number of the call, then what the kernel was given.
func (r *evaluation) value(e *pcl.Expr) int64 {
	switch e.Op {
	case pcl.ExConst:
		return e.Value
	case pcl.ExArg:
		switch n := int64(len(r.x.Call.Args)); {
		case e.Value == 0:
			return int64(r.x.Call.NR)
		case e.Value > 0 && e.Value <= n:
			return int64(r.x.Call.Args[e.Value-1])
		}
		return 0
	case pcl.ExNeg:
		return -r.value(e.L)
	}
	return binary64(e.Op, r.value(e.L), r.value(e.R))
}

// binary64 is an operator of PCL on 64 bits.
func binary64(op pcl.ExprOp, a, b int64) int64 {
	truth := func(ok bool) int64 {
		if ok {
			return 1
		}
		return 0
	}
	switch op {
	case pcl.ExAdd:
		return a + b
	case pcl.ExSub:
		return a - b
	case pcl.ExMul:
		return a * b
	case pcl.ExEq:
		return truth(a == b)
	case pcl.ExNe:
		return truth(a != b)
	case pcl.ExLt:
		return truth(a < b)
	case pcl.ExLe:
		return truth(a <= b)
	case pcl.ExGt:
		return truth(a > b)
	case pcl.ExGe:
		return truth(a >= b)
	case pcl.ExAnd:
		return truth(a != 0 && b != 0)
	case pcl.ExOr:
		return truth(a != 0 || b != 0)
	}
	return 0
}
