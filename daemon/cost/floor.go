package cost

import (
	"culprit/daemon/probe"
	"culprit/pcl"
)

// Prices of one execution in ns where nothing can be tried, because the system gives out no memory for code: floors that were measured
// with bench (see bench/).
const (
	priceOfJump    = 1
	priceOfCounter = 0.5
	priceOfWall    = 10
	priceOfCPUTime = 230
	priceOfRow     = 2
	priceOfBucket  = 3.5
	priceOfTable   = 3
	priceOfGauge   = 15
	priceOfLoad    = 490 // of memory behind a pointer: a system call
	priceOfCall    = 115 // of one of the target's functions: all registers are saved
)

// floor prices a request by the table.
func floor(plan *pcl.Plan, r *pcl.Request, stats bool) float64 {
	ns := priceOfJump + priceOfCounter*float64(len(r.Guards))
	for _, in := range r.Code {
		ns += priceOfCounter + priceOfCall*float64(calls(in.Expr)+calls(in.Cond)) + priceOfLoad*float64(probe.Reads(in.Expr)+probe.Reads(in.Cond))
		if plan.Distribution && in.Op != pcl.OpCall && in.Var == 0 && in.Op != pcl.OpTimerEnter && in.Op != pcl.OpTimerStart {
			ns += priceOfBucket
		}
		if plan.By != 0 && in.Op != pcl.OpCall && in.Var == 0 && in.Op != pcl.OpTimerEnter && in.Op != pcl.OpTimerStart {
			ns += priceOfTable
		}
		if in.Op != pcl.OpCall && plan.Vars[in.Var].Kind.Holds() {
			ns += priceOfGauge
		}
		switch in.Op {
		case pcl.OpTimerEnter, pcl.OpTimerLeave, pcl.OpTimerStart, pcl.OpTimerStop:
			switch kind := plan.Vars[in.Var].Kind; {
			case kind == pcl.ProcessTimer && !stats:
				ns += priceOfCPUTime
			case kind == pcl.Kernel:
				ns += priceOfRow
			default:
				ns += priceOfWall
			}
		}
	}
	return ns
}

// calls is how many functions of the target an expression calls.
func calls(e *pcl.Expr) (n int) {
	if e == nil {
		return 0
	}
	if e.Op == pcl.ExCall {
		n = 1
	}
	for _, a := range e.Args {
		n += calls(a)
	}
	return n + calls(e.L) + calls(e.R)
}
