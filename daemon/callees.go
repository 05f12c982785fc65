package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/callees"
	"culprit/grid"
	"culprit/pcl"
)

// calleeLook is how often the last callees are read.
const calleeLook = 2 * time.Millisecond

// Callees watches the calls of a function for a while and tells where each goes. Direct calls are known; at the indirect ones a probe
// keeps the last callee of each thread, which is read every two milliseconds: a callee that is rare may be missed. What is found is
// known to the search from then on. Without a module the function is what $function of PCL takes the name for.
func (d *Daemon) Callees(ctx context.Context, module, function string, span time.Duration) ([]callees.Call, error) {
	var all []callees.Call
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

func (d *Daemon) callees(ctx context.Context, t *measured, id pcl.FuncID, span time.Duration) ([]callees.Call, error) {
	d.mu.Lock()
	f := t.Func(id)
	pl := t.Plans.Made(f)
	d.mu.Unlock()
	if pl.Reason() != "" {
		return nil, fmt.Errorf("%s cannot be instrumented: %s", f.Fn.Name, pl.Reason())
	}
	w := callees.New(f)
	if w.Indirect() {
		if err := d.watchCallees(ctx, t, w, span); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return w.Calls(t.Program), nil
}

func (d *Daemon) watchCallees(ctx context.Context, t *measured, w *callees.Watch, span time.Duration) error {
	p, err := d.insertCallees(t, w)
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
			p.noteCallees(w)
		}
	}
}

// insertCallees patches the probes in; nil if there is no call that they could watch.
func (d *Daemon) insertCallees(t *measured, w *callees.Watch) (*part, error) {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	plan := w.Plan(t.Sites.Prepare)
	if len(plan.Requests) == 0 {
		return nil, nil
	}
	p, err := d.newBareProbe(t, plan)
	if err != nil {
		return nil, err
	}
	b := batch.New(&d.lingering)
	g := b.Group()
	if err := p.addTo(b, g); err != nil {
		return nil, err
	}
	b.Commit()
	if err := g.Err(); err != nil {
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
	d.lingering.Add(p)
}

// noteCallees reads the last callees of all threads.
func (p *part) noteCallees(w *callees.Watch) {
	p.t.d.mu.Lock()
	defer p.t.d.mu.Unlock()
	if p.t.Seg == nil || p.gone {
		return
	}
	for _, slot := range append(p.t.Seg.Used(nil), p.t.Seg.Slots) {
		for _, r := range p.plan.Requests {
			w.Note(&r, p.t.Seg.Load(slot, p.probes.Cells[r.Code[0].Var].Off))
		}
	}
}
