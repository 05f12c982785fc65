package probe

import "culprit/pcl"

// What a condition at an entry was is known of activations that wait in a system call on a descriptor: they have it as the first argument.

// A Descriptor is the first argument of an activation that waits in a system call on a descriptor.
type Descriptor struct {
	FD int
	// File is what probes know by what the descriptor stands for; ok is false if that is not known.
	File func(fd int) (number uint64, ok bool)
}

// value is what an expression was at the entry; ok is false where that is not known any more.
func (a *Activation) value(e *pcl.Expr) (v int64, ok bool) {
	switch e.Op {
	case pcl.ExConst:
		return e.Value, true
	case pcl.ExArg:
		return a.descriptor(e)
	case pcl.ExNarrow:
		v, ok = a.value(e.L)
		return v, ok && e.Size >= 4 && v >= 0 && v < 1<<31
	case pcl.ExFile:
		fd, ok := a.value(e.L)
		if !ok || a.Waits == nil {
			return 0, false
		}
		number, ok := a.Waits.File(int(fd))
		return int64(number), ok
	case pcl.ExEq, pcl.ExNe, pcl.ExDiv:
		return a.ofTwo(e)
	}
	return 0, false
}

func (a *Activation) descriptor(e *pcl.Expr) (v int64, ok bool) {
	if a.Waits == nil || e.Value != 0 {
		return 0, false
	}
	return int64(a.Waits.FD), true
}

func (a *Activation) ofTwo(e *pcl.Expr) (v int64, ok bool) {
	l, known := a.value(e.L)
	r, ok := a.value(e.R)
	switch ok = ok && known; {
	case !ok:
	case e.Op == pcl.ExDiv && r != 0:
		return l / r, true
	case e.Op == pcl.ExEq && l == r, e.Op == pcl.ExNe && l != r:
		return 1, true
	}
	return 0, ok
}
