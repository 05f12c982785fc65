package estimate

import (
	"slices"

	"culprit/daemon/kernel"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/pcl"
)

// Tells refuses plans that samples do not answer.
func (s *Times) Tells(plan *pcl.Plan) error {
	refuse := func(verb, why string) error {
		return grid.ErrNotSampled{Metric: plan.Pair.Metric, Verb: verb, Why: why}
	}
	switch {
	case plan.Kind == pcl.Counter, plan.Kind.Holds():
		return refuse("counted", "")
	case plan.Kind == pcl.Kernel && kernelModes[plan.KernelName] == kernel.UnknownMode:
		return refuse("told", "the kernel keeps it for whole threads, and what of it belongs to a part of the code only probes read")
	case plan.Kind == pcl.Void:
		return refuse("told", "it needs a place in the code")
	case plan.Distribution:
		return refuse("told", "how long each call takes is not seen")
	}
	for i := range plan.Requests {
		if why := s.unseen(plan, &plan.Requests[i]); why != "" {
			return refuse("told", why)
		}
	}
	return s.lacks(plan)
}

// lacks says what keeps the samples of a plan from being taken.
func (s *Times) lacks(plan *pcl.Plan) error {
	needs := []sampling.Need{sampling.Running}
	if plan.Kind == pcl.Kernel {
		needs = append(needs, sampling.Modes)
	}
	if clockOf(plan) == clockWall {
		needs = append(needs, sampling.Waiting)
	}
	for _, n := range needs {
		if err := s.cannot(n); err != nil {
			return err
		}
	}
	return nil
}

// kernelModes are the modes of threads that are timed by what the kernel keeps of them.
var kernelModes = map[string]kernel.Mode{"system_time": kernel.CallMode, "fault_time": kernel.FaultMode}

// clockOf is the clock of a plan that Tells accepts: time in system calls is that in which a thread ran, time in page faults also that in
// which it waited, unless only samples of threads that run are asked for.
func clockOf(plan *pcl.Plan) int {
	if plan.Kind == pcl.ProcessTimer || plan.Samples == "running" || plan.Kind == pcl.Kernel && kernelModes[plan.KernelName] == kernel.CallMode {
		return clockCPU
	}
	return clockWall
}

// unseen is what of a request cannot be known from a stack; "" if nothing. By which lock a plan tells its values apart is no matter: what
// a blocked thread waits for is known.
func (s *Times) unseen(plan *pcl.Plan, r *pcl.Request) string {
	if r.Where.OfLoop() || r.Where == pcl.Insn {
		return "loops and single instructions are not seen"
	}
	for _, in := range r.Code {
		switch {
		case in.Op == pcl.OpSet && plan.By != 0 && in.Var == plan.By:
		case in.Op == pcl.OpAdd, in.Op == pcl.OpCall, in.Op == pcl.OpSet && in.Expr != nil && in.Expr.Op != pcl.ExConst:
			return "it computes with what was passed to functions"
		case in.Cond != nil && !(r.Where == pcl.Entry && s.asksByNumber(r.Func) && plain(in.Cond)):
			return "it depends on what was passed to functions"
		}
	}
	return ""
}

// asksByNumber reports whether a function is the C library's syscall: where a thread waits in it, the kernel tells its arguments.
func (s *Times) asksByNumber(id pcl.FuncID) bool {
	f := s.t.Func(id)
	return f != nil && (f.Fn.Name == "syscall" || f.Fn.Linkage == "syscall" || slices.Contains(f.Fn.Aliases, "syscall"))
}

// plain reports whether an expression is made of arguments and numbers only.
func plain(e *pcl.Expr) bool {
	switch {
	case e == nil:
		return true
	case len(e.Args) > 0 || e.Op != pcl.ExConst && e.Op != pcl.ExArg && e.Op != pcl.ExNeg && (e.Op < pcl.ExAdd || e.Op > pcl.ExOr):
		return false
	}
	return plain(e.L) && plain(e.R)
}
