package daemon

import (
	"slices"

	"culprit/daemon/image"
	"culprit/pcl"
)

// CallSites implements pcl.Env.
func (p *program) CallSites(id pcl.FuncID) (sites []pcl.CallSite) {
	f := p.funcs[id]
	if f == nil {
		return nil
	}
	w := f.flow()
	if w == nil {
		return nil
	}
	for i, c := range w.Calls {
		s := pcl.CallSite{Caller: id, Index: i}
		if g := p.callee(f.obj, c); g != nil {
			s.Callee = g.id
		}
		sites = append(sites, s)
	}
	return sites
}

// callee resolves a direct call, through the procedure linkage table where it goes through it.
func (p *program) callee(o *object, c image.CallSite) *function {
	if c.Import != "" {
		if ids := p.Named(c.Import); len(ids) > 0 {
			return p.funcs[ids[0]]
		}
		return nil
	}
	if c.Target == 0 {
		return nil
	}
	return p.functionAt(c.Target + o.bias)
}

// callees are what a function calls: by its direct calls and tail calls, and by what was learnt.
func (p *program) callees(f *function) []pcl.FuncID {
	if f.callsAt != p.changes {
		f.calls, f.callsAt = p.callsOf(f), p.changes
	}
	return slices.Concat(f.calls, f.learnt)
}

// learn remembers a callee of an indirect call that somebody saw.
func (f *function) learn(callee pcl.FuncID) {
	if !slices.Contains(f.learnt, callee) {
		f.learnt = append(f.learnt, callee)
	}
}

// callsOf are the callees of a function's direct calls and tail calls, as long as no object is mapped or unmapped.
func (p *program) callsOf(f *function) (ids []pcl.FuncID) {
	flow := f.flow()
	if flow == nil {
		return nil
	}
	for _, c := range flow.Calls {
		if g := p.callee(f.obj, c); g != nil && g != f {
			ids = append(ids, g.id)
		}
	}
	for _, x := range flow.Exits {
		if x.Kind != image.ExitRet && x.Target != 0 {
			if g := p.tailCallee(f.obj, x); g != nil && g != f {
				ids = append(ids, g.id)
			}
		}
	}
	return distinct(ids)
}

// tailCallee is the function that an exit goes on in.
func (p *program) tailCallee(o *object, x image.Exit) *function {
	return p.functionAt(x.Target + o.bias)
}

// isUsed reports whether a function belongs to the program itself, or another object takes it from where it is.
func (p *program) isUsed(f *function) bool {
	return f.obj == p.main() || slices.ContainsFunc(p.list, func(o *object) bool {
		return o != f.obj && slices.ContainsFunc(append(slices.Clone(f.fn.Aliases), f.fn.Linkage, f.fn.Name), o.Imports)
	})
}
