package probe

import (
	"culprit/daemon/kernel"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline"
)

// Catch-up: a thread that is inside a function when its probes come has passed the entry. Without it the inclusive time of main, or of an
// event loop, would stay 0 for ever. What the entry code would have left is written into the thread's block while the target is stopped, by
// interpreting the plan for every activation on the stack, outermost first.

// NeedsCatchUp reports whether threads that are already inside its functions must be told.
func (l *Layout) NeedsCatchUp() bool {
	for _, r := range l.Plan.Requests {
		for _, in := range r.Code {
			if in.Op == pcl.OpSet && in.Var == 0 && l.Plan.Kind.Holds() {
				continue // what it was set to before is not known
			}
			switch in.Op {
			case pcl.OpFlagEnter, pcl.OpTimerEnter, pcl.OpTimerStart, pcl.OpSet:
				return true
			}
		}
	}
	return false
}

// A Request is one request of a meter's plan.
type Request struct {
	m *Meter
	r *pcl.Request
}

// RequestsByFunction are all requests of meters.
func RequestsByFunction(ms []*Meter) map[pcl.FuncID][]Request {
	by := map[pcl.FuncID][]Request{}
	for _, m := range ms {
		for i := range m.Plan.Requests {
			r := &m.Plan.Requests[i]
			by[r.Func] = append(by[r.Func], Request{m, r})
		}
	}
	return by
}

// An Activation is a call of a function that had begun when the probes came.
type Activation struct {
	TID, Slot int
	SP        uint64 // stack pointer at the entry
	Func      *program.Function
	PC        uint64
	Inner     bool        // nothing was called from it
	Waits     *Descriptor // nil where it waits for none
	Requests  []Request
}

// CatchUp does what the probes would have done: what had run at the entry, then what had run before the call that the frame stands in. The
// target is stopped.
func (a *Activation) CatchUp() {
	for _, q := range a.Requests {
		if q.r.Where == pcl.Entry {
			a.run(q)
		}
	}
	if a.Inner {
		return
	}
	for _, q := range a.Requests {
		if q.r.Where == pcl.Call && !q.r.Post && a.Func.CallsFrom(q.r.Site, a.PC) { // that call has not returned
			a.run(q)
		}
	}
}

// run interprets one request. Counters are not touched: what happened before the probe came is not counted. What depends on
// arguments that are gone is left out.
func (a *Activation) run(q Request) {
	for _, g := range q.r.Guards {
		if !a.holds(q.m, q.m.Cells[g]) {
			return
		}
	}
	for _, in := range q.r.Code {
		if in.Cond != nil {
			if v, known := a.value(in.Cond); !known || v == 0 {
				continue
			}
		}
		a.primitive(q.m, in)
	}
}

func (a *Activation) holds(m *Meter, c Cell) bool {
	v := m.t.Seg.Load(a.Slot, c.Off)
	if c.Activation {
		return v >= a.SP && v != 0
	}
	return v != 0
}

func (a *Activation) primitive(m *Meter, in pcl.Instr) {
	if in.Op == pcl.OpCall {
		return // made at the entry only
	}
	if m.Plan.Distribution && in.Var == 0 {
		return // of an activation that began earlier only a part would be measured, and that part is no value
	}
	if m.Table != 0 && in.Var == 0 {
		return // nobody knows any more which object the activation that is under way is for
	}
	seg, c := m.t.Seg, m.Cells[in.Var]
	switch in.Op {
	case pcl.OpFlagEnter:
		if seg.Load(a.Slot, c.Off) <= a.SP {
			seg.Store(a.Slot, c.Off, a.SP)
		}
	case pcl.OpTimerEnter:
		if seg.Load(a.Slot, c.Off+trampoline.TimerActive) <= a.SP {
			a.start(m, c, a.SP)
		}
	case pcl.OpTimerStart:
		a.start(m, c, 1)
	case pcl.OpTimerStop, pcl.OpTimerLeave:
		seg.Store(a.Slot, c.Off+trampoline.TimerActive, 0)
	case pcl.OpSet:
		if in.Var != 0 && in.Expr != nil && in.Expr.Op == pcl.ExConst {
			seg.Store(a.Slot, c.Off, uint64(in.Expr.Value))
		}
	}
}

// start starts a timer, but not one that reads a row in a thread that has none.
func (a *Activation) start(m *Meter, c Cell, by uint64) {
	seg, now := m.t.Seg, a.now(m, c)
	if c.Rows {
		row, ok := m.t.Stats.Now(a.Slot, c.Quantity)
		if !ok {
			return
		}
		if c.Kind == pcl.Kernel {
			now = row
		} else {
			seg.Store(a.Slot, c.Off+trampoline.TimerOff, row)
		}
	}
	seg.Store(a.Slot, c.Off+trampoline.TimerStart, now)
	seg.Store(a.Slot, c.Off+trampoline.TimerActive, by)
}

// now is the time on the clock of a timer.
func (a *Activation) now(m *Meter, c Cell) uint64 {
	if c.Kind == pcl.ProcessTimer && !c.Rows {
		return uint64(m.t.Threads.CPUTime(a.TID))
	}
	return kernel.TSC()
}
