package check

import (
	"maps"
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

func (c *codeChecker) call(e *syntax.Expr) {
	if t, ok := types.Timers[e.Text]; ok {
		c.timer(e, t.Kind, t.Start)
		return
	}
	if needs, ok := notYet[e.Text]; ok {
		c.note(e.Pos, e.Text, needs)
		for _, a := range e.Args {
			c.expr(a)
		}
		return
	}
	if strings.HasPrefix(e.Text, "$") {
		c.fail(e.Pos, "found a call of %s, expected a function of the target or a primitive", e.Text)
		return
	}
	known := slices.Concat(slices.Sorted(maps.Keys(types.Timers)), slices.Sorted(maps.Keys(notYet)))
	if near := syntax.Nearest(e.Text, known); near != "" {
		c.fail(e.Pos, "found a call of %q, which is no primitive (did you mean %q?), expected a primitive or a function of the target", e.Text, near)
		return
	}
	if !c.calledName(e) {
		return
	}
	if len(e.Args) > pcl.MaxCallArgs {
		c.fail(e.Args[pcl.MaxCallArgs].Pos, "found %d arguments of %s, expected at most %d: more would be passed on the stack", len(e.Args), e.Text, pcl.MaxCallArgs)
		return
	}
	c.args(e)
}

func (c *codeChecker) args(e *syntax.Expr) {
	for _, a := range e.Args {
		switch t := c.expr(a); t {
		case types.Int, types.Arg, types.Address, types.Bad:
		case types.String:
			c.fail(a.Pos, "found a string that is given to the function %s of the target, expected numbers and addresses of counters: no text can be given; --watch and the report show what is counted", e.Text)
		default:
			c.fail(a.Pos, "found %v, expected a number or the address of a counter", t)
		}
	}
}

func (c *codeChecker) timer(e *syntax.Expr, kind pcl.Kind, start bool) {
	if c.flag {
		c.fail(e.Pos, "found %s in a flag constraint, expected assignments to %s", e.Text, c.own)
		return
	}
	if len(e.Args) != 1 || e.Args[0].Kind != syntax.Ident || e.Args[0].Text != c.own {
		c.fail(e.Pos, "found %s, expected %s(%s): the argument is the metric's own timer", e, e.Text, c.own)
		return
	}
	if c.out.Kind != kind {
		c.fail(e.Pos, "found %s for a base of kind %v, expected one for this kind", e.Text, c.out.Kind)
		return
	}
	if c.post || start && !begins(c.point) || !start && !ends(c.point) {
		c.out.Plain = true
	}
}

// wantsNoGauge refuses that a function of the target gets the address of a gauge.
func (c *codeChecker) wantsNoGauge(e *syntax.Expr) {
	if e.X.Text == c.own && !c.flag && (c.holds || c.out.Kind == pcl.Gauge) {
		c.fail(e.Pos, "found the address of the gauge %s, expected that of a counter: a change of a gauge is noted with its time; let the function change a counter, and assign that", c.own)
	}
}
