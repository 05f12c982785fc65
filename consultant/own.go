package consultant

import (
	"slices"

	"culprit/consultant/explain"
	"culprit/grid"
)

// ownParts are findings of what functions do themselves: a value of code includes what is called there, and of a function of which a callee is told the
// rest may be more than that.
func (s *Search) ownParts(all []*finding, dropped map[*finding]bool) (own []*finding) {
	for _, n := range s.graph.holding {
		if part := n.own(); part > n.est.Threshold && slices.ContainsFunc(all, func(f *finding) bool {
			return !dropped[f] && f.node.group == n.group && explain.FunctionOf(f.node.focus) != explain.FunctionOf(n.focus) && f.node.isPast(n.focus)
		}) {
			own = append(own, &finding{node: n, own: part, stake: n.stake(nil) * part / n.est.Value})
		}
	}
	return own
}

// own is the part of the computing in a function that is in nothing below it; 0 where that is not known. Of a callee that was entered before it could be
// measured only the stack samples tell.
func (n *node) own() float64 {
	kids, walked := n.kids[step{h: grid.Code}]
	if !walked || !n.hyp.Fraction || !n.hyp.Additive() || n.hyp.Samples.About != "cpu" || explain.FunctionOf(n.focus) == "" || n.byShare() || !(n.Weight > 0) {
		return 0
	}
	own := n.est.Value
	for _, k := range kids {
		own -= max(k.est.Value, n.est.Value*k.Weight/n.Weight)
	}
	n.descend(func(d *node) bool {
		if d.hyp == n.hyp && explain.FunctionOf(d.focus) != explain.FunctionOf(n.focus) {
			own = min(own, n.est.Value-max(d.est.Value, n.est.Value*d.Weight/n.Weight))
		}
		return d.hyp == n.hyp && own > n.est.Threshold // with less nobody asks
	})
	return own
}
