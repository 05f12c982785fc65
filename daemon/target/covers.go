package target

import (
	"strconv"

	"culprit/grid"
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
