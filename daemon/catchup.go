package daemon

import (
	"culprit/daemon/arch"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stack"
	"culprit/daemon/stops"
	"culprit/pcl"
)

// Catch-up: finding the threads that are inside a function when its probes come (see probe.Activation).

// inside finds the activations that the parts of a batch have to catch up with. It walks the stacks of all threads, so it comes before
// anything is written: where that takes too long, nothing has happened.
func (t *measured) inside(w *process.World, fresh []*part) (list []probe.Activation, err error) {
	var need []*probe.Meter
	for _, m := range metersOf(fresh) {
		if m.NeedsCatchUp() {
			need = append(need, m)
		}
	}
	if len(need) == 0 {
		return nil, nil
	}
	byFunc := probe.RequestsByFunction(need)
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
				list = append(list, probe.Activation{TID: th.TID, Slot: t.Seg.SlotOf(arch.ThreadPointer(&th.Regs)), SP: frames[i].CFA - 8, Func: f, PC: frames[i].PC, Inner: i == 0,
					Requests: byFunc[f.ID]})
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
func (t *measured) objectsOf(byFunc map[pcl.FuncID][]probe.Request) map[*program.Object]bool {
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
		if !p.probes.NeedsCatchUp() {
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
func catchUp(list []probe.Activation) {
	for i := range list {
		list[i].CatchUp()
	}
}

// metersOf are the meters of parts that have probes.
func metersOf(parts []*part) (list []*probe.Meter) {
	for _, p := range parts {
		list = append(list, p.probes)
	}
	return list
}
