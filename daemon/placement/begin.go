package placement

import (
	"culprit/daemon/arch"
	"culprit/daemon/libc"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stack"
	"culprit/daemon/stops"
	"culprit/daemon/target"
	"culprit/pcl"
)

// A Beginning is of meters whose code begins to run in a stop. It is a patch.Along. The threads that are inside a function when its probes come
// are found, and what the probes would have done for them is done (see probe.Activation).
type Beginning struct {
	t      *target.Target
	blocks *probe.Blocks
	meters []*probe.Meter
	inside []probe.Activation
}

// Begin is of these meters, all of one target.
func Begin(t *target.Target, blocks *probe.Blocks, meters []*probe.Meter) *Beginning {
	return &Beginning{t: t, blocks: blocks, meters: meters}
}

// of are the meters that begin with a part of the work.
func (b *Beginning) of(last bool) []*probe.Meter {
	if last {
		return b.meters
	}
	return nil
}

// Grows implements patch.Along.
func (b *Beginning) Grows() bool { return len(b.meters) > 0 }

// Cost implements patch.Along: it is what the counters take, in the blocks of all threads that have come to a probe.
func (b *Beginning) Cost(last bool) (bytes uint64) {
	fresh := b.of(last)
	if b.t.Seg == nil || len(fresh) == 0 {
		return 0
	}
	for _, m := range fresh {
		for _, c := range m.Words() {
			bytes += uint64(c.Size)
		}
	}
	return bytes * uint64(len(b.t.Seg.Used(nil))+1)
}

// Ready implements patch.Along: it makes what the catching up needs to know of functions.
func (b *Beginning) Ready(last bool) {
	for _, m := range needCatchUp(b.of(last)) {
		for i := range m.Plan.Requests {
			if f := b.t.Func(m.Plan.Requests[i].Func); f != nil {
				f.Obj.PrepareFunctions()
				f.Flow()
			}
		}
	}
}

// Before implements patch.Along. It walks the stacks of all threads before anything is written: where that takes too long, nothing has happened.
func (b *Beginning) Before(w *process.World, last bool) (err error) {
	b.inside, err = b.activations(w, needCatchUp(b.of(last)))
	return err
}

// After implements patch.Along.
func (b *Beginning) After(last bool) {
	b.blocks.Zero(b.of(last)...)
	b.t.Stats.Link()
	for i := range b.inside {
		b.inside[i].CatchUp()
	}
}

// needCatchUp are those of meters that have to be told of threads that are inside.
func needCatchUp(meters []*probe.Meter) (list []*probe.Meter) {
	for _, m := range meters {
		if m.NeedsCatchUp() {
			list = append(list, m)
		}
	}
	return list
}

// activations finds those that meters have to catch up with.
func (b *Beginning) activations(w *process.World, meters []*probe.Meter) (list []probe.Activation, err error) {
	if len(meters) == 0 {
		return nil, nil
	}
	t := b.t
	byFunc := probe.RequestsByFunction(meters)
	objects := b.objectsOf(byFunc)
	for i, th := range w.Threads() {
		if err := stops.InTime(w); err != nil {
			return nil, err
		}
		frames := t.Stops.View().Frames(i)
		if fs := arch.ThreadPointer(&th.Regs); t.Threads.Meets(th.TID, fs) {
			t.Stops.View().Later(func() { t.NoteStack(th.TID, fs, b.framesOf(frames)) })
		}
		for i := len(frames) - 1; i >= 0; i-- {
			if f := b.oneOf(objects, frames[i].At); f != nil && len(byFunc[f.ID]) > 0 {
				list = append(list, probe.Activation{TID: th.TID, Slot: t.Seg.SlotOf(arch.ThreadPointer(&th.Regs)), SP: frames[i].CFA - 8, Func: f, PC: frames[i].PC, Inner: i == 0,
					Waits: b.waits(th, f, i == 0), Requests: byFunc[f.ID]})
			}
		}
	}
	return list, t.Stops.Missing()
}

// waits is the descriptor that an activation of the C library waits for in its own system call; nil for all others.
func (b *Beginning) waits(th *process.Stopped, f *program.Function, inner bool) *probe.Descriptor {
	if !inner || !th.InSyscall || !libc.IsC(f.Obj.Name) || !arch.WaitsForDescriptor(int(th.Regs.Orig_rax)) {
		return nil
	}
	return &probe.Descriptor{FD: int(int32(arch.FirstArg(&th.Regs))), File: b.t.Files.Known}
}

// framesOf are frames with their functions.
func (b *Beginning) framesOf(raw []stack.RawFrame) []stack.Frame {
	frames := make([]stack.Frame, len(raw))
	for i, fr := range raw {
		frames[i] = stack.Frame{Func: b.t.FunctionAt(fr.At), PC: fr.PC, CFA: fr.CFA}
	}
	return frames
}

// objectsOf are the objects of functions.
func (b *Beginning) objectsOf(byFunc map[pcl.FuncID][]probe.Request) map[*program.Object]bool {
	objects := map[*program.Object]bool{}
	for id := range byFunc {
		if f := b.t.Func(id); f != nil {
			objects[f.Obj] = true
		}
	}
	return objects
}

// oneOf is FunctionAt for what lies in some objects.
func (b *Beginning) oneOf(objects map[*program.Object]bool, addr uint64) *program.Function {
	if o := b.t.ObjectAt(addr); o == nil || !objects[o] {
		return nil
	}
	return b.t.FunctionAt(addr)
}
