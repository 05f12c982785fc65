package target

import (
	"culprit/daemon/arch"
	"culprit/daemon/process"
)

// MakeRoom frees the thread blocks of threads that have ended if there are so many that trampolines may soon find none. silence clears what such a
// thread has left switched on in its block.
func (t *Target) MakeRoom(silence func(slot int)) {
	if t.Seg == nil {
		return
	}
	if t.Seg.Overflowed() && !t.Lossy {
		t.Lossy = true
		t.Logf("%s: more threads came and went than there are thread blocks: numbers are lower bounds from now on", t.Name)
	}
	if !t.Seg.Crowded(t.Threads.Count()) {
		return
	}
	if err := t.Stops.Stop(func(w *process.World) error { t.recycle(w, silence); return nil }); err != nil {
		t.Logf("%s: freeing the thread blocks of threads that have ended: %v", t.Name, err)
	}
}

// recycle frees the blocks of dead threads.
func (t *Target) recycle(w *process.World, silence func(slot int)) {
	live := map[uint64]bool{} // those of them that are in trampolines are true
	for _, th := range w.Threads() {
		fs := arch.ThreadPointer(&th.Regs)
		live[fs] = live[fs] || t.Seg.Contains(arch.PC(&th.Regs))
	}
	t.Seg.Recycle(live, silence, t.Stats.Free)
}
