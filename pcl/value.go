package pcl

import (
	"fmt"
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A value is what an expression is while a plan is made: sets of functions and points, lists, constants.
type value struct {
	typ    typ
	n      int64
	s      string
	procs  []FuncID
	points []point
	items  []value
}

type point struct {
	fn     FuncID
	where  Where
	site   int
	callee FuncID
}

// each are the values that a foreach gives to its variable.
func (v value) each() []value {
	switch {
	case v.typ == tProcs:
		out := make([]value, len(v.procs))
		for i := range v.procs {
			out[i] = value{typ: tProcs, procs: v.procs[i : i+1]}
		}
		return out
	case v.typ.isPoint():
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
		return value{typ: tInt, n: e.Int}, nil
	case syntax.Literal:
		return value{typ: tString, s: e.Text}, nil
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
		return value{typ: tProcs, procs: ids}, err
	case syntax.Negate:
		x, err := c.eval(e.X)
		return value{typ: tInt, n: -x.n}, err
	case syntax.Cast:
		x, err := c.eval(e.X)
		return value{typ: tInt, n: castTypes[e.Text].of(x.n)}, err
	case syntax.Binary:
		return c.evalBinary(e)
	}
	return value{}, errorAt(e.Pos, "found %s, expected something that is known before the target runs", e)
}

func (c *compiler) evalName(e *syntax.Expr) (value, error) {
	if v, ok := c.vars[e.Text]; ok {
		return v, nil
	}
	if l, ok := c.lib.lists[e.Text]; ok {
		return c.listValue(l)
	}
	switch e.Text {
	case "$start":
		return value{typ: tProcs, procs: unique(c.env.Start())}, nil
	case "$exit":
		return value{typ: tProcs, procs: unique(c.env.Exit())}, nil
	case "$machine":
		return value{typ: tString, s: c.env.Machine()}, nil
	case "$modules":
		return c.modules(c.allModules()), nil
	case "$procedures":
		var all []FuncID
		for _, m := range c.allModules() {
			all = append(all, c.moduleFuncs(m)...)
		}
		return value{typ: tProcs, procs: unique(all)}, nil
	}
	return value{}, errorAt(e.Pos, "found %s, expected something that is known before the target runs", e.Text)
}

func (c *compiler) modules(names []string) value {
	v := value{typ: tModules}
	for _, m := range names {
		v.items = append(v.items, value{typ: tModule, s: m})
	}
	return v
}

func (c *compiler) allModules() []string {
	return slices.DeleteFunc(slices.Clone(c.env.Modules()), func(m string) bool { return c.lib.Excluded(m, "") })
}

// moduleFuncs are the functions of a module without the excluded ones.
func (c *compiler) moduleFuncs(module string) []FuncID {
	if len(c.lib.excludes) == 0 {
		return c.env.ModuleFunctions(module)
	}
	return slices.DeleteFunc(slices.Clone(c.env.ModuleFunctions(module)), func(f FuncID) bool {
		return c.lib.Excluded(module, c.env.FuncName(f))
	})
}

// unique drops the 0 and what was there before: one address may have many names.
func unique(ids []FuncID) []FuncID {
	if len(ids) == 1 && ids[0] != 0 {
		return ids
	}
	seen := map[FuncID]bool{0: true}
	var out []FuncID
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

func (c *compiler) listValue(l *list) (v value, err error) {
	v.typ = listTypes[l.kind]
	if l.kind == "procedure" {
		v.procs, err = c.listProcs(l)
		return v, err
	}
	if !flavored(l.flavors, c.env) {
		return v, nil
	}
	for _, it := range l.items {
		switch l.kind {
		case "module":
			match := func(m string) bool { return m == it.Text }
			if it.Pattern != "" {
				match = Matcher(it.Text, it.Pattern == "regex")
			}
			for _, m := range c.allModules() {
				if match(m) {
					v.items = append(v.items, value{typ: tModule, s: m})
				}
			}
		case "string":
			v.items = append(v.items, value{typ: tString, s: it.Text})
		case "int":
			v.items = append(v.items, value{typ: tInt, n: it.Int})
		}
	}
	return v, nil
}

// listProcs resolves a list of procedures. Names that the target does not have are skipped: one text serves many
// libraries.
func (c *compiler) listProcs(l *list) ([]FuncID, error) {
	if !flavored(l.flavors, c.env) {
		return nil, nil
	}
	var all []FuncID
	for _, it := range l.items {
		if it.Pattern != "" {
			all = append(all, c.env.Matching(it.Text, it.Pattern == "regex")...)
		} else {
			ids, err := c.ofItem(l, it.Text)
			if err != nil {
				return nil, err
			}
			all = append(all, ids...)
		}
	}
	all = unique(all)
	if l.library {
		if c.fromLibrary == nil {
			c.fromLibrary = map[FuncID]bool{}
		}
		for _, id := range all {
			c.fromLibrary[id] = true
		}
	}
	return all, nil
}

// chosen is $constraint[i].
func (c *compiler) chosen(e *syntax.Expr) (value, error) {
	if c.cons == nil || e.X.Text != "$constraint" {
		return value{}, errorAt(e.Pos, "found %s, expected something that is known before the target runs", e)
	}
	i, _ := wholeNumber(e.Y)
	if c.at != nil && c.at.path == nil {
		return c.chosenItem(int(i)), nil
	}
	elems := c.elements()
	elems = elems[:len(elems)-int(i)]
	last := elems[len(elems)-1]
	switch t := constraintTypes(c.cons)[i]; t {
	case tModule:
		return value{typ: tModule, s: last}, nil
	case tProcs:
		fns := unique(c.env.Function(elems[0], elems[1]))
		if len(fns) == 0 {
			return value{}, c.lib.Missing(elems, c.env)
		}
		return value{typ: tProcs, procs: fns}, nil
	case tLoop:
		return c.loop(elems)
	case tInt:
		n, err := c.env.Object(c.cons.hierarchy, slices.Clone(elems))
		return value{typ: tInt, n: int64(n)}, err
	default:
		return value{typ: tString, s: last}, nil
	}
}

// loop finds a loop in all functions of the name that have it.
func (c *compiler) loop(elems []string) (value, error) {
	v := value{typ: tLoop, s: elems[2]}
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
		return value{typ: tString, s: v.s}
	}
	at := map[string]struct {
		typ   typ
		where Where
	}{"enter": {tLoopEnter, LoopEnter}, "exit": {tLoopExit, LoopExit}, "start_iter": {tOtherPoint, LoopStartIter}, "end_iter": {tOtherPoint, LoopEndIter}}[field]
	out := value{typ: at.typ}
	for _, p := range v.points {
		out.points = append(out.points, point{fn: p.fn, where: at.where, site: p.site})
	}
	return out
}

// line is $line("file.c", 120).
func (c *compiler) line(e *syntax.Expr) (value, error) {
	v := value{typ: tOtherPoint}
	for _, p := range c.env.Line(e.Args[0].Text, int(e.Args[1].Int)) {
		v.points = append(v.points, point{fn: p.Func, where: Insn, site: p.Offset})
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
	if x.typ == tModule {
		if e.Text == "name" {
			return value{typ: tString, s: x.s}, nil
		}
		if x.procs != nil {
			return value{typ: tProcs, procs: x.procs}, nil
		}
		return value{typ: tProcs, procs: unique(c.moduleFuncs(x.s))}, nil
	}
	if x.typ == tLoop {
		return x.loopPoint(e.Text), nil
	}
	switch e.Text {
	case "entry":
		return value{typ: tEntry, points: pointsOf(x.procs, Entry)}, nil
	case "return":
		return value{typ: tReturn, points: pointsOf(x.procs, Return)}, nil
	case "name":
		v := value{typ: tString}
		if len(x.procs) > 0 {
			v.s = c.env.FuncName(x.procs[0])
		}
		return v, nil
	}
	v := value{typ: tCall}
	for _, f := range x.procs {
		for _, site := range c.env.CallSites(f) {
			if c.flag < 0 || !c.skip[site.Callee] {
				v.points = append(v.points, point{f, Call, site.Index, site.Callee})
			}
		}
	}
	return v, nil
}

func pointsOf(procs []FuncID, where Where) []point {
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
	if x.typ == tString {
		return value{typ: tInt, n: truth((x.s == y.s) == (e.Text == "=="))}, nil
	}
	return value{typ: tInt, n: fold(operatorOf[e.Text], x.n, y.n)}, nil
}
