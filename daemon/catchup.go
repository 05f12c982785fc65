package daemon

import (
	"culprit/daemon/arch"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stack"
	"culprit/daemon/stops"
	"culprit/pcl"
	"culprit/trampoline"
)

// Catch-up: a thread that is inside a function when its probes come has passed the entry. Without it the inclusive time of
// main, or of an event loop, would stay 0 for ever. What the entry code would have left is written into the thread's block
// while the target is stopped, by interpreting the plan for every activation on the stack, outermost first.

// inside finds the activations that the parts of a batch have to catch up with. It walks the stacks of all threads, so it comes before
// anything is written: where that takes too long, nothing has happened.
func (t *measured) inside(w *process.World, fresh []*part) (list []activation, err error) {
	var need []*part
	for _, p := range fresh {
		if p.needsCatchUp() {
			need = append(need, p)
		}
	}
	if len(need) == 0 {
		return nil, nil
	}
	byFunc := requestsByFunction(need)
	objects := t.objectsOf(byFunc)
	for i, th := range w.Threads() {
		if err := stops.InTime(w); err != nil {
			return nil, err
		}
		frames := t.Stops.View().Frames(i)
		if fs := arch.ThreadPointer(&th.Regs); t.Threads.Meets(th.TID, fs) {
			t.Stops.View().Later(func() { t.NoteStack(th.TID, fs, t.framesOf(frames)) })
		}
		for i := len(frames) - 1; i >= 0; i-- {
			if f := t.oneOf(objects, frames[i].At); f != nil && len(byFunc[f.ID]) > 0 {
				fr := &stack.Frame{Func: f, PC: frames[i].PC, CFA: frames[i].CFA}
				list = append(list, activation{t: t, tid: th.TID, slot: t.Seg.SlotOf(arch.ThreadPointer(&th.Regs)), sp: fr.CFA - 8, fr: fr, inner: i == 0, reqs: byFunc[f.ID]})
			}
		}
	}
	return list, t.Stops.Missing()
}

// framesOf are frames with their functions.
func (t *measured) framesOf(raw []stack.RawFrame) []stack.Frame {
	frames := make([]stack.Frame, len(raw))
	for i, fr := range raw {
		frames[i] = stack.Frame{Func: t.FunctionAt(fr.At), PC: fr.PC, CFA: fr.CFA}
	}
	return frames
}

// objectsOf are the objects of functions.
func (t *measured) objectsOf(byFunc map[pcl.FuncID][]partRequest) map[*program.Object]bool {
	objects := map[*program.Object]bool{}
	for id := range byFunc {
		if f := t.Func(id); f != nil {
			objects[f.Obj] = true
		}
	}
	return objects
}

// oneOf is functionAt for what lies in some objects.
func (t *measured) oneOf(objects map[*program.Object]bool, addr uint64) *program.Function {
	if o := t.ObjectAt(addr); o == nil || !objects[o] {
		return nil
	}
	return t.FunctionAt(addr)
}

// readyFor makes what the catching up with parts needs to know of their functions.
func (t *measured) readyFor(fresh []*part) {
	for _, p := range fresh {
		if !p.needsCatchUp() {
			continue
		}
		for i := range p.plan.Requests {
			if f := t.Func(p.plan.Requests[i].Func); f != nil {
				f.Obj.PrepareFunctions()
				f.Flow()
			}
		}
	}
}

// catchUp does what the probes would have done.
func catchUp(list []activation) {
	for i := range list {
		list[i].enter(list[i].reqs)
	}
}

type partRequest struct {
	p *part
	r *pcl.Request
}

func requestsByFunction(parts []*part) map[pcl.FuncID][]partRequest {
	m := map[pcl.FuncID][]partRequest{}
	for _, p := range parts {
		for i := range p.plan.Requests {
			r := &p.plan.Requests[i]
			m[r.Func] = append(m[r.Func], partRequest{p, r})
		}
	}
	return m
}

// An activation interprets entry code for one frame.
type activation struct {
	t     *measured
	tid   int
	slot  int
	sp    uint64 // stack pointer at the entry
	fr    *stack.Frame
	inner bool // nothing was called from it
	reqs  []partRequest
}

// enter runs what had run at the entry, then what had run before the call that the frame stands in.
func (a *activation) enter(reqs []partRequest) {
	for _, pr := range reqs {
		if pr.r.Where == pcl.Entry {
			a.run(pr)
		}
	}
	if a.inner {
		return
	}
	for _, pr := range reqs {
		if pr.r.Where == pcl.Call && !pr.r.Post && a.standsIn(pr.r.Site) {
			a.run(pr)
		}
	}
}

// standsIn reports whether the frame's call site with this number is the one that has not returned.
func (a *activation) standsIn(site int) bool {
	return a.fr.Func.CallsFrom(site, a.fr.PC)
}

// run interprets one request. Counters are not touched: what happened before the probe came is not counted. What depends on
// arguments that are gone is left out.
func (a *activation) run(pr partRequest) {
	for _, g := range pr.r.Guards {
		if !a.holds(pr.p.Cells[g]) {
			return
		}
	}
	for _, in := range pr.r.Code {
		if in.Cond != nil {
			continue
		}
		a.primitive(pr.p, in)
	}
}

func (a *activation) holds(c probe.Cell) bool {
	v := a.t.Seg.Load(a.slot, c.Off)
	if c.Activation {
		return v >= a.sp && v != 0
	}
	return v != 0
}

func (a *activation) primitive(p *part, in pcl.Instr) {
	if in.Op == pcl.OpCall {
		return // made at the entry only
	}
	if p.plan.Distribution && in.Var == 0 {
		return // of an activation that began earlier only a part would be measured, and that part is no value
	}
	if p.Table != 0 && in.Var == 0 {
		return // nobody knows any more which object the activation that is under way is for
	}
	seg, c := a.t.Seg, p.Cells[in.Var]
	switch in.Op {
	case pcl.OpFlagEnter:
		if seg.Load(a.slot, c.Off) <= a.sp {
			seg.Store(a.slot, c.Off, a.sp)
		}
	case pcl.OpTimerEnter:
		if seg.Load(a.slot, c.Off+trampoline.TimerActive) <= a.sp {
			a.start(p, c, a.sp)
		}
	case pcl.OpTimerStart:
		a.start(p, c, 1)
	case pcl.OpTimerStop, pcl.OpTimerLeave:
		seg.Store(a.slot, c.Off+trampoline.TimerActive, 0)
	case pcl.OpSet:
		if in.Var != 0 && in.Expr != nil && in.Expr.Op == pcl.ExConst {
			seg.Store(a.slot, c.Off, uint64(in.Expr.Value))
		}
	}
}

// start starts a timer, but not one that reads a row in a thread that has none.
func (a *activation) start(p *part, c probe.Cell, by uint64) {
	seg, now := a.t.Seg, a.now(c)
	if c.Rows {
		row, ok := a.t.Stats.Now(a.slot, probe.Quantity(p.plan))
		if !ok {
			return
		}
		if c.Kind == pcl.Kernel {
			now = row
		} else {
			seg.Store(a.slot, c.Off+trampoline.TimerOff, row)
		}
	}
	seg.Store(a.slot, c.Off+trampoline.TimerStart, now)
	seg.Store(a.slot, c.Off+trampoline.TimerActive, by)
}

// now is the time on the clock of a timer.
func (a *activation) now(c probe.Cell) uint64 {
	if c.Kind == pcl.ProcessTimer && !c.Rows {
		return uint64(a.t.Threads.CPUTime(a.tid))
	}
	return tsc()
}
