package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/daemon/batch"
	"culprit/daemon/callees"
	"culprit/daemon/measuring"
	"culprit/grid"
	"culprit/pcl"
)

// calleeLook is how often the last callees are read.
const calleeLook = 2 * time.Millisecond

// An indirect watches indirect calls.
type indirect struct{ *state }

// Callees watches the calls of a function for a while and tells where each goes. Direct calls are known; at the indirect ones a probe
// keeps the last callee of each thread, which is read every two milliseconds: a callee that is rare may be missed. What is found is
// known to the search from then on. Without a module the function is what $function of PCL takes the name for.
func (iw *indirect) Callees(ctx context.Context, module, function string, span time.Duration) ([]callees.Call, error) {
	var all []callees.Call
	found := false
	for _, t := range iw.list() {
		t.Lock()
		ids, err := calling(t, module, function)
		if err == nil {
			err = t.NeedsProbes("watching indirect calls")
		}
		t.Unlock()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			found = true
			calls, err := iw.callees(ctx, t, id, span)
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

func (iw *indirect) callees(ctx context.Context, t *measuring.Process, id pcl.FuncID, span time.Duration) ([]callees.Call, error) {
	t.Lock()
	f := t.Func(id)
	pl := t.Plans.Made(f)
	t.Unlock()
	if pl.Reason() != "" {
		return nil, fmt.Errorf("%s cannot be instrumented: %s", f.Fn.Name, pl.Reason())
	}
	w := callees.New(f)
	if w.Indirect() {
		if err := iw.watchCallees(ctx, t, w, span); err != nil {
			return nil, err
		}
	}
	t.Lock()
	defer t.Unlock()
	return w.Calls(t.Program), nil
}

func (iw *indirect) watchCallees(ctx context.Context, t *measuring.Process, w *callees.Watch, span time.Duration) error {
	p, err := iw.insertCallees(t, w)
	if p == nil {
		return err
	}
	defer iw.takeOut(p)
	end := time.NewTimer(span)
	defer end.Stop()
	look := time.NewTicker(calleeLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-iw.stopped:
			return errors.New("the session has ended")
		case <-end.C:
			return nil
		case <-look.C:
			t.Lock()
			p.NoteCallees(w)
			t.Unlock()
		}
	}
}

// insertCallees patches the probes in; nil if there is no call that they could watch.
func (iw *indirect) insertCallees(t *measuring.Process, w *callees.Watch) (*measuring.Part, error) {
	iw.enabling.Lock()
	defer iw.enabling.Unlock()
	b := batch.New(&iw.lingering)
	g := b.Group()
	p, err := iw.addWatch(b, g, t, w)
	if p == nil {
		return nil, err
	}
	b.Commit()
	if err := g.Err(); err != nil {
		return nil, iw.typedNow(err)
	}
	return p, nil
}

// addWatch adds them to a batch.
func (iw *indirect) addWatch(b *batch.Batch, g *batch.Group, t *measuring.Process, w *callees.Watch) (*measuring.Part, error) {
	t.Lock()
	defer t.Unlock()
	plan := w.Plan(t.Sites.Prepare)
	if len(plan.Requests) == 0 {
		return nil, nil
	}
	p, err := measuring.NewBare(t, plan, iw.nextOwner())
	if err != nil {
		return nil, err
	}
	if err := p.AddTo(b, g); err != nil {
		return nil, err
	}
	return p, nil
}

// takeOut removes the probes; they leave the text within the next seconds.
func (iw *indirect) takeOut(p *measuring.Part) {
	iw.enabling.Lock()
	defer iw.enabling.Unlock()
	p.Process.Lock()
	defer p.Process.Unlock()
	if p.Gone {
		return
	}
	iw.lingering.Add(p)
}

// calling are the functions that a name means in a target, which is locked; in all modules if none is given.
func calling(t *measuring.Process, module, function string) ([]pcl.FuncID, error) {
	if module == "" {
		return t.Meant(function)
	}
	return t.Function(module, function), nil
}
