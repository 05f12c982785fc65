package pcl

import "slices"

// What belongs to an activation of a function (a timer, a flag) ends with it, however it ends.

// OnlyEnds reports whether a request does nothing but end what belongs to activations.
func (r *Request) OnlyEnds() bool {
	return !slices.ContainsFunc(r.Code, func(in Instr) bool { return !in.endsActivation() })
}

// EndsActivations reports the same of a request at the returns of a function.
func (r *Request) EndsActivations() bool { return r.Where == Return && r.OnlyEnds() }

// Ends is a request of which nothing is left but the ends of activations. Whatever it made dependent on a result or on the focus does
// not matter for a call that will not return.
func (r *Request) Ends() *Request {
	ends := &Request{Func: r.Func, Where: r.Where}
	if r.Where != Return && r.Where != LoopExit {
		return ends
	}
	for _, in := range r.Code {
		if in.endsActivation() {
			ends.Code = append(ends.Code, Instr{Op: in.Op, Var: in.Var})
		}
	}
	return ends
}

func (in *Instr) endsActivation() bool { return in.Op == OpTimerLeave || in.Op == OpFlagLeave }
