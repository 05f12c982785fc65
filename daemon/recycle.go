package daemon

import (
	"culprit/daemon/arch"
	"culprit/daemon/process"
)

// crowded reports whether so many thread blocks belong to the dead that trampolines may soon find none.
func (t *measured) crowded() bool {
	return t.Seg != nil && !t.ended && t.Seg.Crowded(t.Threads.Count())
}

// recycle frees the blocks of dead threads.
func (t *measured) recycle(w *process.World) {
	live := map[uint64]bool{}
	for _, th := range w.Threads() {
		live[arch.ThreadPointer(&th.Regs)] = true
	}
	t.Seg.Recycle(live, t.silence, t.Stats.Free)
}

// silence clears what a dead thread has left switched on in its block.
func (t *measured) silence(slot int) {
	for _, p := range t.d.parts(t) {
		if p.probes != nil {
			p.probes.Silence(slot)
		}
	}
}

// parts lists the parts in a target whose code may run.
func (d *Daemon) parts(t *measured) (list []*part) {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.t == t {
				list = append(list, pt)
			}
		}
	}
	for _, p := range d.lingering.Of(t) {
		list = append(list, p.(*part))
	}
	return list
}

// makeRoom frees blocks if that is needed. d.mu is held.
func (d *Daemon) makeRoom(t *measured) {
	if t.Seg != nil && t.Seg.Overflowed() && !t.lossy {
		t.lossy = true
		d.logf("%s: more threads came and went than there are thread blocks: numbers are lower bounds from now on", t.Name)
	}
	if !t.crowded() {
		return
	}
	if err := t.Stops.Stop(func(w *process.World) error { t.recycle(w); return nil }); err != nil {
		d.logf("%s: freeing the thread blocks of threads that have ended: %v", t.Name, err)
	}
}
