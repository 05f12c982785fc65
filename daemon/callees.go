package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"culprit/daemon/image"
	"culprit/daemon/probe"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
)

// A CalledFrom says which functions are called from one place in a function.
type CalledFrom struct {
	From     string // the function that calls, as module/function
	Offset   uint64 // of the call instruction from the function's entry
	File     string // where it is written; "" if that is not known
	Line     int
	Indirect bool
	Callees  []string // module/function, sorted; of indirect calls those that were seen
	Refused  string   // why an indirect call cannot be watched
}

// calleeLook is how often the last callees are read.
const calleeLook = 2 * time.Millisecond

// Callees watches the calls of a function for a while and tells where each goes. Direct calls are known; at the indirect ones a probe
// keeps the last callee of each thread, which is read every two milliseconds: a callee that is rare may be missed. What is found is
// known to the search from then on. Without a module the function is what $function of PCL takes the name for.
func (d *Daemon) Callees(ctx context.Context, module, function string, span time.Duration) ([]CalledFrom, error) {
	var all []CalledFrom
	found := false
	d.mu.Lock()
	targets := append([]*measured(nil), d.targets...)
	d.mu.Unlock()
	for _, t := range targets {
		d.mu.Lock()
		ids, err := t.calling(module, function)
		d.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := t.needsProbes("watching indirect calls"); err != nil {
			return nil, err
		}
		for _, id := range ids {
			found = true
			calls, err := d.callees(ctx, t, id, span)
			if err != nil {
				return nil, err
			}
			all = append(all, calls...)
		}
	}
	if !found {
		f := grid.Whole().Refine(grid.Code, module, function)
		return nil, grid.ErrRefused{Point: f.String(), Reason: "the target has no such function"}
	}
	return all, nil
}

// calling are the functions that a name means; in all modules if none is given. d.mu is held.
func (t *measured) calling(module, function string) ([]pcl.FuncID, error) {
	if module == "" {
		return t.Meant(function)
	}
	return t.Function(module, function), nil
}

func (d *Daemon) callees(ctx context.Context, t *measured, id pcl.FuncID, span time.Duration) ([]CalledFrom, error) {
	d.mu.Lock()
	f := t.Func(id)
	pl := t.Plans.Made(f)
	d.mu.Unlock()
	if pl.Reason() != "" {
		return nil, fmt.Errorf("%s cannot be instrumented: %s", f.Fn.Name, pl.Reason())
	}
	seen := make([]watched, len(f.Flow().Calls))
	for i := range seen {
		seen[i].callees = map[uint64]bool{}
	}
	if slices.ContainsFunc(f.Flow().Calls, isIndirect) {
		if err := d.watchCallees(ctx, t, f, seen, span); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.calledFrom(f, seen), nil
}

// watched is what is known of one call.
type watched struct {
	callees map[uint64]bool
	refused string
}

// isIndirect reports whether a call goes where a register or memory says, other than the linkage table's.
func isIndirect(c image.CallSite) bool { return c.Indirect && c.Import == "" && c.Target == 0 }

// calleeKey is the pair by which the probes of Callees go in and out.
func calleeKey(f *program.Function) grid.PairKey {
	return grid.PairKey{Metric: "(callees)", Focus: grid.Whole().Refine(grid.Code, f.Fn.Module, f.Fn.Name)}
}

// calleePlan keeps the last callee of every indirect call in a variable of its own.
func (t *measured) calleePlan(f *program.Function, seen []watched) *pcl.Plan {
	p := &pcl.Plan{Pair: calleeKey(f), Kind: pcl.Counter}
	for i, c := range f.Flow().Calls {
		if !isIndirect(c) {
			continue
		}
		p.Vars = append(p.Vars, pcl.Var{Name: fmt.Sprintf("callee%d", i), Kind: pcl.Counter})
		r := pcl.Request{Func: f.ID, Where: pcl.Call, Site: i, Code: []pcl.Instr{{Op: pcl.OpSet, Var: len(p.Vars) - 1, Expr: &pcl.Expr{Op: pcl.ExCallee}}}}
		if err := t.reachable(&r); err != nil {
			seen[i].refused = err.Error()
			continue
		}
		p.Requests = append(p.Requests, r)
	}
	return p
}

func (d *Daemon) watchCallees(ctx context.Context, t *measured, f *program.Function, seen []watched, span time.Duration) error {
	p, err := d.insertCallees(t, f, seen)
	if p == nil {
		return err
	}
	defer d.takeOut(p)
	end := time.NewTimer(span)
	defer end.Stop()
	look := time.NewTicker(calleeLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.stopped:
			return errors.New("the session has ended")
		case <-end.C:
			return nil
		case <-look.C:
			p.noteCallees(seen)
		}
	}
}

// insertCallees patches the probes in; nil if there is no call that they could watch.
func (d *Daemon) insertCallees(t *measured, f *program.Function, seen []watched) (*part, error) {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	plan := t.calleePlan(f, seen)
	if len(plan.Requests) == 0 {
		return nil, nil
	}
	d.owner++
	p := newProbePart(t, plan, d.owner, probe.Options{}, false)
	if err := p.probes.Reserve(); err != nil {
		p.release()
		return nil, err
	}
	b := d.newBatch()
	if err := b.place(p); err != nil {
		b.takeBack(p)
		return nil, err
	}
	b.touch(p)
	b.fresh[t] = append(b.fresh[t], p)
	b.made[plan.Pair] = &pair{key: plan.Pair, parts: []*part{p}}
	b.run()
	if err := b.failed[plan.Pair]; err != nil {
		return nil, d.typed(err)
	}
	return p, nil
}

// takeOut removes the probes; they leave the text within the next seconds.
func (d *Daemon) takeOut(p *part) {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.gone {
		return
	}
	d.switchOut(p)
}

// noteCallees reads the last callees of all threads.
func (p *part) noteCallees(seen []watched) {
	p.t.d.mu.Lock()
	defer p.t.d.mu.Unlock()
	if p.t.Seg == nil || p.gone {
		return
	}
	for _, slot := range append(p.t.Seg.Used(nil), p.t.Seg.Slots) {
		for _, r := range p.plan.Requests {
			if to := p.t.Seg.Load(slot, p.probes.Cells[r.Code[0].Var].Off); to != 0 {
				seen[r.Site].callees[to] = true
			}
		}
	}
}

// calledFrom names what is known of the calls of a function. d.mu is held.
func (t *measured) calledFrom(f *program.Function, seen []watched) (out []CalledFrom) {
	for i, c := range f.Flow().Calls {
		at := CalledFrom{From: f.Fn.Module + "/" + f.Fn.Name, Offset: c.Addr + f.Obj.Bias - f.Addr(), Indirect: isIndirect(c), Refused: seen[i].refused}
		at.File, at.Line, _ = f.Obj.Line(c.Addr)
		if g := t.Callee(f.Obj, c); g != nil {
			at.Callees = append(at.Callees, g.Fn.Module+"/"+g.Fn.Name)
		}
		for to := range seen[i].callees {
			if g := t.FunctionAt(to); g != nil {
				at.Callees = append(at.Callees, g.Fn.Module+"/"+g.Fn.Name)
				f.Learn(g.ID)
			}
		}
		slices.Sort(at.Callees)
		at.Callees = slices.Compact(at.Callees)
		out = append(out, at)
	}
	return out
}
