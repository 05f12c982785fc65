package daemon

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// A function that ends in a jump to another one has no return value there: it is made by the other. What needs the value would
// miss those calls without a word, so it is refused. Lists of libraries name the functions that are jumped to as well: there it is left
// out at such exits, rather than fed with what happens to be in the register.

// resultLater refuses $return of a function that has such an exit.
func (t *measured) resultLater(f *program.Function, r *pcl.Request) error {
	w := f.Flow()
	if r.Where != pcl.Return || r.Listed || r.Follows || w == nil || !slices.ContainsFunc(r.Code, readsReturn) {
		return nil
	}
	none := &pcl.NoResult{Function: safetext.CleanMax(f.Fn.Name, 100), Exits: len(w.Exits)}
	for _, e := range w.Exits {
		if e.Kind == image.ExitRet {
			continue
		}
		none.Jumps++
		g := t.Callee(f.Obj, image.CallSite{Target: e.Target, Import: e.Import})
		if g == nil || g == f || len(none.To) == target.MostNamed {
			continue
		}
		if name := safetext.CleanMax(g.Fn.Name, 100); !slices.Contains(none.To, name) {
			none.To = append(none.To, name)
		}
	}
	if none.Jumps == 0 {
		return nil
	}
	return none
}

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
