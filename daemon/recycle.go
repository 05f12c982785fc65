package daemon

import (
	"culprit/daemon/arch"
	"culprit/daemon/process"
	"culprit/pcl"
	"culprit/trampoline"
)

// Thread blocks are claimed by trampolines, by thread pointer, and are not given back by anyone in the target: a thread that
// ends knows nothing of us. Most programs use few pointers again and again, since the C library keeps stacks. Where they do
// not, the blocks of the dead are freed while the target stands still, which is the only time at which the living are known.

// crowded reports whether so many blocks belong to the dead that trampolines may soon find none.
func (t *target) crowded() bool {
	if t.seg == nil || t.ended {
		return false
	}
	taken := 0
	for _, slot := range t.seg.used(nil) {
		if t.seg.load(slot, 0) != 0 {
			taken++
		}
	}
	return taken > t.seg.Slots/2 && taken-t.threads.Count() > t.seg.Slots/4
}

// recycle frees the blocks of dead threads. Sums stay where they are and grow on under the next owner; what says that a timer
// runs or that a function is active is cleared. A block stays when a living thread would not find its own any more, because it
// had to pass over this one.
func (t *target) recycle(w *process.World) {
	live := map[uint64]bool{}
	for _, th := range w.Threads() {
		live[arch.ThreadPointer(&th.Regs)] = true
	}
	seg := t.seg
	needed := map[int]bool{} // blocks that a living thread has, or passes over to its own
	var dead []int
	for _, slot := range seg.used(nil) {
		fs := seg.load(slot, 0)
		switch {
		case slot == seg.Slots || fs == 0:
		case !live[fs]:
			dead = append(dead, slot)
		default:
			for at := seg.Geometry.Slot(fs); at != slot; at = (at + 1) % seg.Slots {
				needed[at] = true
			}
		}
	}
	for _, slot := range dead {
		t.silence(slot)
		if !needed[slot] {
			t.freeRow(seg.load(slot, 0))
			seg.store(slot, 0, 0)
		}
	}
}

// silence clears what a dead thread has left switched on in its block.
func (t *target) silence(slot int) {
	for _, p := range t.d.parts(t) {
		for i, c := range p.cells {
			switch {
			case c.kind.Holds():
				p.forgetGauge(slot)
			case c.kind != pcl.Counter:
				t.seg.store(slot, c.off+trampoline.TimerActive, 0)
			case i > 0:
				t.seg.store(slot, c.off, 0) // flags; the first variable is what is measured
			}
		}
	}
}

// parts lists the parts in a target whose code may run.
func (d *Daemon) parts(t *target) (list []*part) {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.t == t {
				list = append(list, pt)
			}
		}
	}
	for _, pt := range d.off {
		if pt.t == t {
			list = append(list, pt)
		}
	}
	return list
}

// makeRoom frees blocks if that is needed. d.mu is held.
func (d *Daemon) makeRoom(t *target) {
	if t.seg != nil && t.seg.overflowed() && !t.lossy {
		t.lossy = true
		d.logf("%s: more threads came and went than there are thread blocks: numbers are lower bounds from now on", t.name)
	}
	if !t.crowded() {
		return
	}
	if err := t.stop(func(w *process.World) error { t.recycle(w); return nil }); err != nil {
		d.logf("%s: freeing the thread blocks of threads that have ended: %v", t.name, err)
	}
}
