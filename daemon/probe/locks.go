package probe

import (
	"cmp"
	"slices"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline"
)

// Locks become known by being taken: the tables of metrics that are told apart by locks have their addresses, and the functions that the keys
// were set in say of which kind they are.

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

// tagged has a key say in its highest byte what kind of lock it is, where that is known.
func (m *Meter) tagged(key *trampoline.Expr, set pcl.FuncID) *trampoline.Expr {
	kind := lockKind(m.t.Func(set))
	if kind == 0 {
		return key
	}
	return &trampoline.Expr{Op: trampoline.ExAdd, L: key, R: &trampoline.Expr{Value: int64(kind) << tagShift}}
}

// takenAtOnce is how many locks of a meter become known by being taken in one pass.
const takenAtOnce = 64

// FindTaken makes resources of the locks in the table: of many the busiest first.
func (m *Meter) FindTaken() {
	if m.Table == 0 {
		return
	}
	totals := m.keys.totals
	var fresh []uint64
	for key := range totals {
		if m.keys.tags[key] != 0 && !m.t.Locks.IsKnown(key) {
			fresh = append(fresh, key)
		}
	}
	slices.SortFunc(fresh, func(a, b uint64) int { return cmp.Compare(totals[b], totals[a]) })
	for _, key := range fresh[:min(len(fresh), takenAtOnce)] {
		if kind := libc.Numbered(m.keys.tags[key]); kind != "" {
			m.t.Locks.Taken(kind, key)
		}
	}
}
