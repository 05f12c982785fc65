package target

import (
	"strconv"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// Which resources of a focus the process has.

// Covers reports whether a focus covers the process.
func (t *Target) Covers(f grid.Focus) bool {
	e := f.Elements(grid.Process)
	if len(e) == 0 {
		return true
	}
	return e[0] == t.Name || e[0] == strconv.Itoa(t.Proc.PID())
}

// checkModule refuses a focus on a module that the target does not have (yet): nothing would be counted there.
func (t *Target) checkModule(f grid.Focus) error {
	if e := f.Elements(grid.Code); len(e) == 1 && !t.HasModule(e[0]) {
		return compile.Missing(e, t)
	}
	return nil
}

// FocusFunctions are the functions that a focus names.
func (t *Target) FocusFunctions(f grid.Focus) map[pcl.FuncID]bool {
	m := map[pcl.FuncID]bool{}
	if e := f.Elements(grid.Code); len(e) >= 2 {
		for _, id := range t.Function(e[0], e[1]) {
			m[id] = true
		}
	}
	return m
}
