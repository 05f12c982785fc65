package pcl

import "slices"

// ReadsReturn reports whether code of a request reads $return.
func (r *Request) ReadsReturn() bool { return slices.ContainsFunc(r.Code, readsReturn) }

// WithoutReturn is the request without the pieces of code that read $return: what stands at exits where there is no result yet.
func (r *Request) WithoutReturn() *Request {
	if !r.ReadsReturn() {
		return r
	}
	rest := *r
	rest.Code = slices.DeleteFunc(slices.Clone(r.Code), readsReturn)
	return &rest
}

func readsReturn(in Instr) bool { return hasReturn(in.Expr) || hasReturn(in.Cond) }

func hasReturn(e *Expr) bool {
	return e != nil && (e.Op == ExReturn || hasReturn(e.L) || hasReturn(e.R) || slices.ContainsFunc(e.Args, hasReturn))
}
