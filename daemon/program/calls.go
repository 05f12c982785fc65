package program

import (
	"slices"

	"culprit/daemon/image"
	"culprit/pcl"
)

// CallSites implements pcl.Env.
func (p *Program) CallSites(id pcl.FuncID) (sites []pcl.CallSite) {
	f := p.funcs[id]
	if f == nil {
		return nil
	}
	w := f.Flow()
	if w == nil {
		return nil
	}
	for i, c := range w.Calls {
		s := pcl.CallSite{Caller: id, Index: i}
		if g := p.Callee(f.Obj, c); g != nil {
			s.Callee = g.ID
		}
		sites = append(sites, s)
	}
	return sites
}

// Callee resolves a direct call, through the procedure linkage table where it goes through it.
func (p *Program) Callee(o *Object, c image.CallSite) *Function {
	if c.Import != "" {
		if ids := p.linked(c.Import); len(ids) > 0 {
			return p.funcs[ids[0]]
		}
		return nil
	}
	if c.Target == 0 {
		return nil
	}
	return p.FunctionAt(c.Target + o.Bias)
}

// linked are the functions of a name that another object may have been linked to. They must not be changed. Old versions are left out where there is
// another one: a program of their time is hardly met, and what else is called so would be taken for them.
func (p *Program) linked(name string) []pcl.FuncID {
	ids := p.namely(Name{"", name})
	old := func(id pcl.FuncID) bool { return p.funcs[id].Fn.OldVersion() }
	if slices.ContainsFunc(ids, old) {
		if now := slices.DeleteFunc(slices.Clone(ids), old); len(now) > 0 {
			return now
		}
	}
	return ids
}

// Callees are what a function calls: by its direct calls and tail calls, and by what was learnt.
func (p *Program) Callees(f *Function) []pcl.FuncID {
	if f.callsAt != p.changes {
		f.calls, f.callsAt = p.callsOf(f), p.changes
	}
	return slices.Concat(f.calls, f.learnt)
}

// Learn remembers a callee of an indirect call that somebody saw.
func (f *Function) Learn(callee pcl.FuncID) {
	if !slices.Contains(f.learnt, callee) {
		f.learnt = append(f.learnt, callee)
	}
}

// callsOf are the callees of a function's direct calls and tail calls, as long as no object is mapped or unmapped.
func (p *Program) callsOf(f *Function) (ids []pcl.FuncID) {
	flow := f.Flow()
	if flow == nil {
		return nil
	}
	for _, c := range flow.Calls {
		if g := p.Callee(f.Obj, c); g != nil && g != f {
			ids = append(ids, g.ID)
		}
	}
	for _, x := range flow.Exits {
		if x.Kind != image.ExitRet {
			if g := p.TailCallee(f.Obj, x); g != nil && g != f {
				ids = append(ids, g.ID)
			}
		}
	}
	return Distinct(ids)
}

// TailCallee is the function that an exit goes on in; nil if it goes on in none, or if that is not known. Behind the procedure linkage table it is
// known where only one function of the program has the name: else the loader has chosen.
func (p *Program) TailCallee(o *Object, x image.Exit) *Function {
	switch {
	case x.Import != "":
		if ids := p.linked(x.Import); len(ids) == 1 {
			return p.funcs[ids[0]]
		}
	case x.Target != 0:
		return p.FunctionAt(x.Target + o.Bias)
	}
	return nil
}

// IsUsed reports whether a function belongs to the program itself, or another object takes it from where it is.
func (p *Program) IsUsed(f *Function) bool {
	return f.Obj == p.Main() || slices.ContainsFunc(p.list, func(o *Object) bool {
		return o != f.Obj && slices.ContainsFunc(append(slices.Clone(f.Fn.Aliases), f.Fn.Linkage, f.Fn.Name), o.Imports)
	})
}
