package daemon

import (
	"culprit/pcl"
)

// unplaced reports why the value of a part would be wrong for what was left out: a counter, a timer or a flag of it that no
// code is left for stays 0 for ever, and 0 would be taken for an answer. bad says which functions cannot be instrumented.
func (p *part) unplaced(bad map[pcl.FuncID]error) error {
	written := map[int]bool{}
	for _, r := range p.plan.Requests {
		for _, in := range r.Code {
			written[in.Var] = written[in.Var] || bad[r.Func] == nil && !r.Follows && !p.t.Sites.NeverComesBack(&r)
		}
	}
	for _, r := range p.plan.Requests {
		for _, in := range r.Code {
			switch {
			case written[in.Var] || r.Follows:
			case bad[r.Func] == nil:
				return &pcl.NoPoint{Pair: p.plan.Pair}
			default:
				return bad[r.Func]
			}
		}
	}
	return nil
}
