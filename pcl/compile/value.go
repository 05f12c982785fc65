package compile

import (
	"fmt"
	"slices"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// A value is what an expression is while a plan is made: sets of functions and points, lists, constants.
type value struct {
	typ    types.Type
	n      int64
	s      string
	procs  []pcl.FuncID
	points []point
	items  []value
}

type point struct {
	fn     pcl.FuncID
	where  pcl.Where
	site   int
	callee pcl.FuncID
}

// each are the values that a foreach gives to its variable.
func (v value) each() []value {
	switch {
	case v.typ == types.Procs:
		out := make([]value, len(v.procs))
		for i := range v.procs {
			out[i] = value{typ: types.Procs, procs: v.procs[i : i+1]}
		}
		return out
	case v.typ.IsPoint():
		out := make([]value, len(v.points))
		for i := range v.points {
			out[i] = value{typ: v.typ, points: v.points[i : i+1]}
		}
		return out
	}
	return v.items
}

// eval evaluates an expression that does not depend on the running target.
func (c *compiler) eval(e *syntax.Expr) (value, error) {
	switch e.Kind {
	case syntax.Number:
		return value{typ: types.Int, n: e.Int}, nil
	case syntax.Literal:
		return value{typ: types.String, s: e.Text}, nil
	case syntax.Ident:
		return c.evalName(e)
	case syntax.Index:
		return c.chosen(e)
	case syntax.Field:
		return c.evalField(e)
	case syntax.Call: // the checker leaves $function and $line
		if e.Text == "$line" {
			return c.line(e)
		}
		ids, err := c.named(e.Args[0].Text)
		return value{typ: types.Procs, procs: ids}, err
	case syntax.Negate:
		x, err := c.eval(e.X)
		return value{typ: types.Int, n: -x.n}, err
	case syntax.Cast:
		x, err := c.eval(e.X)
		return value{typ: types.Int, n: types.CastTypes[e.Text].Of(x.n)}, err
	case syntax.Binary:
		return c.evalBinary(e)
	}
	return value{}, syntax.ErrorAt(e.Pos, "found %s, expected something that is known before the target runs", e)
}

func (c *compiler) evalName(e *syntax.Expr) (value, error) {
	if v, ok := c.vars[e.Text]; ok {
		return v, nil
	}
	if l := c.lib.List(e.Text); l != nil {
		return c.listValue(l)
	}
	switch e.Text {
	case "$start":
		return value{typ: types.Procs, procs: unique(c.env.Start())}, nil
	case "$exit":
		return value{typ: types.Procs, procs: unique(c.env.Exit())}, nil
	case "$machine":
		return value{typ: types.String, s: c.env.Machine()}, nil
	case "$modules":
		return c.modules(c.allModules()), nil
	case "$procedures":
		var all []pcl.FuncID
		for _, m := range c.allModules() {
			all = append(all, c.moduleFuncs(m)...)
		}
		return value{typ: types.Procs, procs: unique(all)}, nil
	}
	return value{}, syntax.ErrorAt(e.Pos, "found %s, expected something that is known before the target runs", e.Text)
}

// chosen is $constraint[i].
func (c *compiler) chosen(e *syntax.Expr) (value, error) {
	if c.cons == nil || e.X.Text != "$constraint" {
		return value{}, syntax.ErrorAt(e.Pos, "found %s, expected something that is known before the target runs", e)
	}
	i, _ := types.WholeNumber(e.Y)
	if c.at != nil && c.at.Path == nil {
		return c.chosenItem(int(i)), nil
	}
	elems := c.elements()
	elems = elems[:len(elems)-int(i)]
	last := elems[len(elems)-1]
	switch t := types.ConstraintTypes(c.cons)[i]; t {
	case types.Module:
		return value{typ: types.Module, s: last}, nil
	case types.Procs:
		fns := unique(c.env.Function(elems[0], elems[1]))
		if len(fns) == 0 {
			return value{}, Missing(elems, c.env)
		}
		return value{typ: types.Procs, procs: fns}, nil
	case types.Loop:
		return c.loop(elems)
	case types.Int:
		n, err := c.env.Object(c.cons.Hierarchy, slices.Clone(elems))
		return value{typ: types.Int, n: int64(n)}, err
	default:
		return value{typ: types.String, s: last}, nil
	}
}

// loop finds a loop in all functions of the name that have it.
func (c *compiler) loop(elems []string) (value, error) {
	v := value{typ: types.Loop, s: elems[2]}
	for _, f := range unique(c.env.Function(elems[0], elems[1])) {
		if n, ok := c.env.Loop(f, elems[2]); ok {
			v.points = append(v.points, point{fn: f, site: n})
		}
	}
	if len(v.points) == 0 {
		f := grid.Whole().Refine(grid.Code, elems...)
		return v, grid.ErrRefused{Point: f.String(), Reason: "the target has no such loop"}
	}
	return v, nil
}

// loopPoint is a field of a loop.
func (v value) loopPoint(field string) value {
	if field == "name" {
		return value{typ: types.String, s: v.s}
	}
	at := map[string]struct {
		typ   types.Type
		where pcl.Where
	}{"enter": {types.LoopEnter, pcl.LoopEnter}, "exit": {types.LoopExit, pcl.LoopExit}, "start_iter": {types.OtherPoint, pcl.LoopStartIter}, "end_iter": {types.OtherPoint, pcl.LoopEndIter}}[field]
	out := value{typ: at.typ}
	for _, p := range v.points {
		out.points = append(out.points, point{fn: p.fn, where: at.where, site: p.site})
	}
	return out
}

// line is $line("file.c", 120).
func (c *compiler) line(e *syntax.Expr) (value, error) {
	v := value{typ: types.OtherPoint}
	for _, p := range c.env.Line(e.Args[0].Text, int(e.Args[1].Int)) {
		v.points = append(v.points, point{fn: p.Func, where: pcl.Insn, site: p.Offset})
	}
	if len(v.points) == 0 {
		return v, grid.ErrRefused{Point: fmt.Sprintf("%s:%d", e.Args[0].Text, e.Args[1].Int), Reason: "the target has no code of this line that DWARF knows of"}
	}
	return v, nil
}

func (c *compiler) evalField(e *syntax.Expr) (value, error) {
	x, err := c.eval(e.X)
	if err != nil {
		return x, err
	}
	if x.typ == types.Module {
		if e.Text == "name" {
			return value{typ: types.String, s: x.s}, nil
		}
		if x.procs != nil {
			return value{typ: types.Procs, procs: x.procs}, nil
		}
		return value{typ: types.Procs, procs: unique(c.moduleFuncs(x.s))}, nil
	}
	if x.typ == types.Loop {
		return x.loopPoint(e.Text), nil
	}
	switch e.Text {
	case "entry":
		return value{typ: types.Entry, points: pointsOf(x.procs, pcl.Entry)}, nil
	case "return":
		return value{typ: types.Return, points: pointsOf(x.procs, pcl.Return)}, nil
	case "name":
		v := value{typ: types.String}
		if len(x.procs) > 0 {
			v.s = c.env.FuncName(x.procs[0])
		}
		return v, nil
	}
	v := value{typ: types.Call}
	for _, f := range x.procs {
		for _, site := range c.env.CallSites(f) {
			if c.flag < 0 || !c.skip[site.Callee] {
				v.points = append(v.points, point{f, pcl.Call, site.Index, site.Callee})
			}
		}
	}
	return v, nil
}

func pointsOf(procs []pcl.FuncID, where pcl.Where) []point {
	out := make([]point, len(procs))
	for i, f := range procs {
		out[i] = point{fn: f, where: where}
	}
	return out
}

func (c *compiler) evalBinary(e *syntax.Expr) (value, error) {
	x, err := c.eval(e.X)
	if err != nil {
		return x, err
	}
	y, err := c.eval(e.Y)
	if err != nil {
		return y, err
	}
	if x.typ == types.String {
		return value{typ: types.Int, n: truth((x.s == y.s) == (e.Text == "=="))}, nil
	}
	return value{typ: types.Int, n: fold(pcl.Operators[e.Text], x.n, y.n)}, nil
}
