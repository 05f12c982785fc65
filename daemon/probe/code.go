package probe

import (
	"fmt"

	"culprit/pcl"
	"culprit/trampoline"
)

// Code translates a request of the plan to primitives on cells.
func (l *Layout) Code(r *pcl.Request) (ms []trampoline.Mini, err error) {
	var guards []trampoline.Guard
	for _, v := range r.Guards {
		guards = append(guards, trampoline.Guard{Cell: l.Cells[v].Off, Activation: l.Cells[v].Activation})
	}
	if cell := l.hitsOf(r); cell >= 0 {
		ms = append(ms, trampoline.Mini{Op: trampoline.Add, Cell: cell, Expr: &trampoline.Expr{Value: 1}})
	}
	for _, in := range r.Code {
		m := trampoline.Mini{Op: l.op(in), Guards: guards}
		if in.Op != pcl.OpCall {
			l.point(&m, in.Var)
		}
		if m.Expr, err = l.expr(in.Expr); err != nil {
			return nil, err
		}
		if m.Cond, err = l.expr(in.Cond); err != nil {
			return nil, err
		}
		if l.setsKey(in) && l.KeyOf != nil {
			m.Expr = l.KeyOf(m.Expr, r.Func)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// point has a primitive change a variable.
func (l *Layout) point(m *trampoline.Mini, v int) {
	c := l.Cells[v]
	m.Cell, m.Shared = c.Off, c.Kind == pcl.Gauge
	if c.Rows {
		m.Row = c.Quantity.Offset()
	}
	if v != 0 {
		return
	}
	m.Buckets = l.Buckets
	if l.Table != 0 {
		m.Table, m.Key = l.Table, l.Cells[l.Plan.By].Off
	}
}

// setsKey reports whether an instruction sets what values are told apart by.
func (l *Layout) setsKey(in pcl.Instr) bool {
	return l.Table != 0 && in.Op == pcl.OpSet && in.Var == l.Plan.By && in.Expr.Op != pcl.ExConst
}

var plainOps = map[pcl.Op]trampoline.Op{pcl.OpAdd: trampoline.Add, pcl.OpSet: trampoline.Set, pcl.OpCall: trampoline.Do,
	pcl.OpFlagEnter: trampoline.FlagEnter, pcl.OpFlagLeave: trampoline.FlagLeave}
var gaugeOps = map[pcl.Op]trampoline.Op{pcl.OpAdd: trampoline.GaugeAdd, pcl.OpSet: trampoline.GaugeSet}
var wallOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.WallEnter, pcl.OpTimerLeave: trampoline.WallLeave,
	pcl.OpTimerStart: trampoline.WallStart, pcl.OpTimerStop: trampoline.WallStop}
var cpuOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.CPUEnter, pcl.OpTimerLeave: trampoline.CPULeave,
	pcl.OpTimerStart: trampoline.CPUStart, pcl.OpTimerStop: trampoline.CPUStop}
var runOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.RunEnter, pcl.OpTimerLeave: trampoline.RunLeave,
	pcl.OpTimerStart: trampoline.RunStart, pcl.OpTimerStop: trampoline.RunStop}
var rowOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.RowEnter, pcl.OpTimerLeave: trampoline.RowLeave,
	pcl.OpTimerStart: trampoline.RowStart, pcl.OpTimerStop: trampoline.RowStop}

func (l *Layout) op(in pcl.Instr) trampoline.Op {
	if op, ok := gaugeOps[in.Op]; ok && l.Cells[in.Var].Kind.Holds() {
		return op
	}
	if op, ok := plainOps[in.Op]; ok {
		return op
	}
	ops := wallOps
	switch c := l.Cells[in.Var]; {
	case c.Kind == pcl.Kernel:
		ops = rowOps
	case c.Kind == pcl.ProcessTimer && c.Rows:
		ops = runOps
	case c.Kind == pcl.ProcessTimer:
		ops = cpuOps
	}
	op, ok := ops[in.Op]
	if !ok {
		panic(fmt.Sprintf("BUG: primitive %d has no code", in.Op))
	}
	return op
}

var exprOps = map[pcl.ExprOp]trampoline.ExprOp{pcl.ExConst: trampoline.ExConst, pcl.ExArg: trampoline.ExArg, pcl.ExReturn: trampoline.ExReturn, pcl.ExCallee: trampoline.ExCallee,
	pcl.ExVar: trampoline.ExWord, pcl.ExAdd: trampoline.ExAdd, pcl.ExSub: trampoline.ExSub, pcl.ExMul: trampoline.ExMul, pcl.ExEq: trampoline.ExEq,
	pcl.ExNe: trampoline.ExNe, pcl.ExLt: trampoline.ExLt, pcl.ExLe: trampoline.ExLe, pcl.ExGt: trampoline.ExGt, pcl.ExGe: trampoline.ExGe,
	pcl.ExAnd: trampoline.ExAnd, pcl.ExOr: trampoline.ExOr, pcl.ExNeg: trampoline.ExNeg,
	pcl.ExDiv: trampoline.ExDiv, pcl.ExAddr: trampoline.ExAddr, pcl.ExCall: trampoline.ExCall,
	pcl.ExNarrow: trampoline.ExNarrow, pcl.ExSP: trampoline.ExSP, pcl.ExStack: trampoline.ExStack, pcl.ExLoad: trampoline.ExLoad, pcl.ExMatch: trampoline.ExMatch, pcl.ExPath: trampoline.ExPath,
	pcl.ExFile: trampoline.ExFile, pcl.ExRenew: trampoline.ExRenew}

func (l *Layout) expr(e *pcl.Expr) (*trampoline.Expr, error) {
	if e == nil {
		return nil, nil
	}
	out := &trampoline.Expr{Op: exprOps[e.Op], Value: e.Value, Size: e.Size, Signed: e.Signed, Text: e.Text}
	if e.Op == pcl.ExVar || e.Op == pcl.ExAddr {
		if l.Cells[e.Value].Kind == pcl.Gauge {
			out.Op = trampoline.ExShared
		}
		out.Value = int64(l.Cells[e.Value].Off)
	}
	var err error
	if out.L, err = l.expr(e.L); err != nil {
		return nil, err
	}
	if out.R, err = l.expr(e.R); err != nil {
		return nil, err
	}
	for _, a := range e.Args {
		arg, err := l.expr(a)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, arg)
	}
	if out.Depth() > trampoline.MaxExprDepth {
		return nil, fmt.Errorf("metric %q: an expression is nested more than %d deep: split it", l.Plan.Pair.Metric, trampoline.MaxExprDepth)
	}
	return out, nil
}
