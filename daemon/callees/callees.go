// Package callees says which functions are called from each place in a function: direct calls are known, and for indirect ones it makes the
// plan of probes that keep the last callee of each thread.
//
// It must not know how probes are put in, nor read their cells: it is told what was found there. A Watch has no lock: callers exclude each
// other, and Calls reads a program, which must not change meanwhile.
package callees

import (
	"cmp"
	"fmt"
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
)

// A Call says which functions are called from one place in a function.
type Call struct {
	From     string // the function that calls, as module/function
	Offset   uint64 // of the call instruction from the function's entry
	File     string // where it is written; "" if that is not known
	Line     int
	Indirect bool
	Tail     bool     // it is a jump: the function that is called returns to the caller
	Callees  []string // module/function, sorted; of indirect calls those that were seen
	Refused  string   // why an indirect call cannot be watched
}

// A Watch is what is known of the calls of a function.
type Watch struct {
	f    *program.Function
	seen []watched // by the number of the call
}

// watched is what is known of one call.
type watched struct {
	callees map[uint64]bool
	refused string
}

// New knows nothing yet of a function.
func New(f *program.Function) *Watch {
	w := &Watch{f: f, seen: make([]watched, len(f.Flow().Calls))}
	for i := range w.seen {
		w.seen[i].callees = map[uint64]bool{}
	}
	return w
}

// Indirect reports whether the function has calls that only a probe can tell of.
func (w *Watch) Indirect() bool { return slices.ContainsFunc(w.f.Flow().Calls, isIndirect) }

// isIndirect reports whether a call goes where a register or memory says, other than the linkage table's.
func isIndirect(c image.CallSite) bool { return c.Indirect && c.Import == "" && c.Target == 0 }

// Plan keeps the last callee of every indirect call in a variable of its own. refuses says why a request cannot be served; it is
// left out then.
func (w *Watch) Plan(refuses func(*pcl.Request) error) *pcl.Plan {
	p := &pcl.Plan{Pair: grid.PairKey{Metric: "(callees)", Focus: grid.Whole().Refine(grid.Code, w.f.Fn.Module, w.f.Fn.Name)}, Kind: pcl.Counter}
	for i, c := range w.f.Flow().Calls {
		if !isIndirect(c) {
			continue
		}
		p.Vars = append(p.Vars, pcl.Var{Name: fmt.Sprintf("callee%d", i), Kind: pcl.Counter})
		r := pcl.Request{Func: w.f.ID, Where: pcl.Call, Site: i, Code: []pcl.Instr{{Op: pcl.OpSet, Var: len(p.Vars) - 1, Expr: &pcl.Expr{Op: pcl.ExCallee}}}}
		if err := refuses(&r); err != nil {
			w.seen[i].refused = err.Error()
			continue
		}
		p.Requests = append(p.Requests, r)
	}
	return p
}

// Note notes what the variable of a request of the plan holds; 0 is nothing.
func (w *Watch) Note(r *pcl.Request, callee uint64) {
	if callee != 0 {
		w.seen[r.Site].callees[callee] = true
	}
}

// Calls names what is known, and lets the function know whom it calls.
func (w *Watch) Calls(p *program.Program) (out []Call) {
	f := w.f
	for i, c := range f.Flow().Calls {
		at := Call{From: f.Fn.Module + "/" + f.Fn.Name, Offset: c.Addr + f.Obj.Bias - f.Addr(), Indirect: isIndirect(c), Refused: w.seen[i].refused}
		at.File, at.Line, _ = f.Obj.Line(c.Addr)
		if g := p.Callee(f.Obj, c); g != nil {
			at.Callees = append(at.Callees, g.Fn.Module+"/"+g.Fn.Name)
		}
		for to := range w.seen[i].callees {
			if g := p.FunctionAt(to); g != nil {
				at.Callees = append(at.Callees, g.Fn.Module+"/"+g.Fn.Name)
				f.Learn(g.ID)
			}
		}
		slices.Sort(at.Callees)
		at.Callees = slices.Compact(at.Callees)
		out = append(out, at)
	}
	out = append(out, w.tails(p)...)
	slices.SortStableFunc(out, func(a, b Call) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}

// tails are the calls by which the function ends.
func (w *Watch) tails(p *program.Program) (out []Call) {
	f := w.f
	for _, x := range f.Flow().Exits {
		if x.Kind == image.ExitRet {
			continue
		}
		at := Call{From: f.Fn.Module + "/" + f.Fn.Name, Offset: x.Addr + f.Obj.Bias - f.Addr(), Indirect: x.Target == 0 && x.Import == "", Tail: true}
		at.File, at.Line, _ = f.Obj.Line(x.Addr)
		switch g := p.TailCallee(f.Obj, x); {
		case g != nil:
			at.Callees = []string{g.Fn.Module + "/" + g.Fn.Name}
		case at.Indirect:
			at.Refused = "it is a jump through a pointer"
		}
		out = append(out, at)
	}
	return out
}
