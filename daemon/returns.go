package daemon

import (
	"slices"

	"culprit/pcl"
)

// A function that ends in a jump to another one has no return value there: it is made by the other. What needs the value is
// left out at such exits, rather than fed with what happens to be in the register.

// withoutReturn is a request without the pieces of code that read $return.
func withoutReturn(r *pcl.Request) *pcl.Request {
	if !slices.ContainsFunc(r.Code, readsReturn) {
		return r
	}
	rest := *r
	rest.Code = slices.DeleteFunc(slices.Clone(r.Code), readsReturn)
	return &rest
}

func readsReturn(in pcl.Instr) bool { return hasReturn(in.Expr) || hasReturn(in.Cond) }

func hasReturn(e *pcl.Expr) bool {
	return e != nil && (e.Op == pcl.ExReturn || hasReturn(e.L) || hasReturn(e.R) || slices.ContainsFunc(e.Args, hasReturn))
}
