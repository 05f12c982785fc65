package daemon

import (
	"fmt"
	"slices"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/grid"
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

// tag has a key say in its highest byte what kind of lock it is, where that is known. A trial of the price, which belongs to no target,
// has one key: most threads use few objects.
func (p *part) tag(m *trampoline.Mini, in pcl.Instr, id pcl.FuncID) {
	if p.keys.cell == 0 || in.Op != pcl.OpSet || in.Var != p.plan.By || in.Expr.Op == pcl.ExConst {
		return
	}
	if p.t == nil {
		m.Expr = &trampoline.Expr{Op: trampoline.ExOr, L: m.Expr, R: &trampoline.Expr{Value: 1}}
		return
	}
	if kind := lockKind(p.t.Func(id)); kind != 0 {
		m.Expr = &trampoline.Expr{Op: trampoline.ExAdd, L: m.Expr, R: &trampoline.Expr{Value: int64(kind) << tagShift}}
	}
}

// maxTaken is how many locks of a process become known by being taken, and takenAtOnce how many in one pass.
const (
	maxTaken    = 1000
	takenAtOnce = 64
)

// findTaken makes resources of the locks in the tables of all pairs: of many the busiest first. d.mu is held.
func (d *Daemon) findTaken() {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			if pt.keys.cell != 0 && !pt.t.ended {
				pt.findTaken()
			}
		}
	}
}

func (p *part) findTaken() {
	o := p.t.locks
	var fresh []uint64
	for key := range p.keys.totals {
		if p.keys.tags[key] != 0 && !o.known(key) {
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
			o.taken(kind, key)
		}
	}
}

// onlyTaken reports whether a lock is known by being taken alone: nobody was seen waiting for it in any process, so there is nothing to
// search. d.mu is held.
func (d *Daemon) onlyTaken(kind, name string) bool {
	part, known := grid.SyncObject.String()+"/"+kind+"/"+name, false
	for _, t := range d.targets {
		o := t.locks
		o.mu.Lock()
		addr, has := o.values[part]
		taken := o.idle[addr]
		o.mu.Unlock()
		if has && !taken {
			return false
		}
		known = known || has
	}
	return known
}

// known reports whether the lock at an address has a name.
func (o *objectTable) known(addr uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.addrs[addr]
}

// taken makes a lock a resource that nobody was seen waiting for.
func (o *objectTable) taken(kind string, addr uint64) {
	_, name := o.t.nameLock(addr, libc.Lock(kind))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.numTaken >= maxTaken || o.addrs[addr] {
		return
	}
	o.numTaken++
	o.idle[addr] = true
	if name == "" {
		name = fmt.Sprintf("%#x", addr)
		o.bare[addr] = name
	}
	part := grid.SyncObject.String() + "/" + kind + "/" + name
	o.values[part], o.addrs[addr] = addr, true
	o.t.d.tree.Add(grid.SyncObject, kind, name)
}
