package refine

import (
	"slices"

	"culprit/consultant/foci"
	"culprit/grid"
)

// promise estimates the value at a focus from the share of stack samples there and at the node that is expanded.
func (q *Question) promise(weight, ofNode float64) float64 {
	if ofNode <= 0 {
		return 0
	}
	return q.Value * weight / ofNode
}

// deepStart follows the call graph below the children as far as stack samples promise a true node (Roth & Miller,
// Euro-Par 2002): the whole chain down to the bottleneck is then tested at once, side by side, instead of level by
// level. It goes through a few functions on few stacks, so that a hot callee of many cool callers is reached too.
func (q *Question) deepStart(list []*Found) []*Found {
	base := q.Axis.Weight(q.Focus, q.Kind)
	if base <= 0 {
		return nil
	}
	byFocus := map[grid.Focus]*Found{}
	for _, c := range list {
		byFocus[c.Focus] = c
	}
	var found []*Found
	queue := slices.Clone(list)
	for looks := 0; len(queue) > 0 && looks < maxLooks && len(found) < mostFound; looks++ {
		c := queue[0]
		queue = queue[1:]
		if c.Weight <= 0 || foci.Suppressed(c.Focus, q.Suppress) != "" && c.cool >= coolDepth {
			continue
		}
		for _, f := range q.step(c.Focus, grid.Code) {
			if d := byFocus[f]; d != nil {
				d.Callers = appendCaller(d, c)
				continue
			}
			d := &Found{Focus: f, Weight: q.Axis.Weight(f, q.Kind), Callers: []*Found{c}, cool: c.cool + 1}
			if d.Hot = q.isHot(d.Weight, base); d.Hot {
				d.cool = 0
			}
			d.Pass = !d.Hot
			if d.Weight > 0 && d.cool <= coolDepth {
				byFocus[f] = d
				found = append(found, d)
				queue = append(queue, d)
			}
		}
	}
	return onTheWay(found)
}

// appendCaller adds a caller unless the Found is a direct child (its parent is the expanded node) or the call
// closes a circle.
func appendCaller(d, c *Found) []*Found {
	if len(d.Callers) == 0 || slices.Contains(d.Callers, c) || c.reaches(d, 0) {
		return d.Callers
	}
	return append(d.Callers, c)
}

// reaches tells whether d is among the callers of c, or theirs.
func (c *Found) reaches(d *Found, depth int) bool {
	return c == d || depth < 32 && slices.ContainsFunc(c.Callers, func(p *Found) bool { return p.reaches(d, depth+1) })
}

// onTheWay keeps the Founds to be tested and those that lie on the way to them, in the order found.
func onTheWay(found []*Found) []*Found {
	keep := map[*Found]bool{}
	var mark func(c *Found)
	mark = func(c *Found) {
		if keep[c] {
			return
		}
		keep[c] = true
		for _, p := range c.Callers {
			mark(p)
		}
	}
	for _, c := range found {
		if !c.Pass {
			mark(c)
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(c *Found) bool { return !keep[c] })
}

// Through finds hot callees of callers that are cool each by itself. An inclusive value of a function is at most
// the sum of its callers' values; where several callers share a callee and their sum exceeds the threshold, the callee
// is tested although none of the callers holds. Functions are met level by level; a caller that is found on a deeper
// level than its callee does not add to the callee's bound.
func (q *Question) Through(callers []*Found) []*Found {
	if !q.Additive {
		return nil
	}
	byFocus := map[grid.Focus]*Found{q.Focus: {Focus: q.Focus}}
	for _, c := range callers {
		byFocus[c.Focus] = c
	}
	var found []*Found
	level := callers
	for depth := 0; depth < throughDepth && len(level) > 0; depth++ {
		var next []*Found
		fresh := map[*Found]bool{}
		for _, c := range level {
			for _, f := range q.step(c.Focus, grid.Code) {
				d := byFocus[f]
				if d == nil && len(byFocus) < maxThrough {
					d = &Found{Focus: f, Pass: true}
					byFocus[f] = d
					fresh[d] = true
					next = append(next, d)
				}
				if d != nil && fresh[d] {
					d.Callers = append(d.Callers, c)
					d.Bound += c.Bound
				}
			}
		}
		found = append(found, next...)
		level = q.passOn(next)
	}
	return onTheWay(found)
}

// passOn marks those of a level that are to be tested and returns the others, through which the look goes on.
func (q *Question) passOn(level []*Found) []*Found {
	base := q.Axis.Weight(q.Focus, q.Kind)
	var on []*Found
	for _, c := range level {
		c.Weight = q.Axis.Weight(c.Focus, q.Kind)
		likely := base <= 0 || q.isHot(c.Weight, base)
		if c.Bound > q.Threshold && len(c.Callers) > 1 && likely {
			c.Pass = false
			continue
		}
		on = append(on, c)
	}
	return on
}
