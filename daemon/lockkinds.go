package daemon

import (
	"slices"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline"
)

// Locks become known by being taken: the tables of metrics that are told apart by locks have their addresses, and the functions
// that the keys were set in say of which kind they are.

// lockKind is the number of the kind of lock that a function's first argument is, 0 if that is not known.
func lockKind(f *program.Function) byte {
	if f == nil {
		return 0
	}
	for _, n := range f.Names() {
		if k := libc.KindOf(n); k != "" {
			return libc.Number(k)
		}
	}
	return 0
}

// keyOf has a key say in its highest byte what kind of lock it is, where that is known.
func (p *part) keyOf(key *trampoline.Expr, set pcl.FuncID) *trampoline.Expr {
	kind := lockKind(p.t.Func(set))
	if kind == 0 {
		return key
	}
	return &trampoline.Expr{Op: trampoline.ExAdd, L: key, R: &trampoline.Expr{Value: int64(kind) << tagShift}}
}

// takenAtOnce is how many locks of a process become known by being taken in one pass.
const takenAtOnce = 64

// findTaken makes resources of the locks in the tables of all pairs: of many the busiest first. d.mu is held.
func (d *Daemon) findTaken() {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.Table != 0 && !pt.t.ended {
				pt.findTaken()
			}
		}
	}
}

func (p *part) findTaken() {
	var fresh []uint64
	for key := range p.keys.totals {
		if p.keys.tags[key] != 0 && !p.t.Locks.IsKnown(key) {
			fresh = append(fresh, key)
		}
	}
	slices.SortFunc(fresh, func(a, b uint64) int {
		switch x, y := p.keys.totals[a], p.keys.totals[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, key := range fresh[:min(len(fresh), takenAtOnce)] {
		if kind := libc.Numbered(p.keys.tags[key]); kind != "" {
			p.t.Locks.Taken(kind, key)
		}
	}
}

// onlyTaken reports whether a lock is known by being taken alone: nobody was seen waiting for it in any process, so there is nothing to
// search. d.mu is held.
func (d *Daemon) onlyTaken(kind, name string) bool {
	known := false
	for _, t := range d.targets {
		has, only := t.Locks.OnlyTaken(kind, name)
		if has && !only {
			return false
		}
		known = known || has
	}
	return known
}
