package target

import (
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// Compile is the plan of a pair in this process. A plan that found no function to instrument, in a program that names none,
// would measure nothing for ever: that is an error, since 0 would be taken for an answer.
func (t *Target) Compile(k grid.PairKey) (*pcl.Plan, error) {
	if err := t.checkModule(k.Focus); err != nil {
		return nil, err
	}
	plan, err := compile.Plan(t.Library, k.Metric, k.Focus, t)
	if err == nil && plan.By != 0 && len(plan.Requests) == 0 {
		return nil, grid.ErrUnsupported{What: k.Metric + " of " + t.Name,
			Needs: "one of the functions that it counts, and the target names none of them" + t.Library.Lacking(k.Metric)}
	}
	if err != nil || plan.KeptByKernel() || len(plan.Requests) > 0 || !t.nameless() {
		return plan, err
	}
	return nil, grid.ErrUnsupported{What: k.Metric + " of " + t.Name,
		Needs: "the names of its functions: it is linked statically and was stripped"}
}

// nameless tells whether no object of the target names any function.
func (t *Target) nameless() bool {
	for _, o := range t.Objects() {
		if o.HasNames() {
			return false
		}
	}
	return true
}
