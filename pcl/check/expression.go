package check

import (
	"maps"
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// expr returns the type of an expression. Inside code (c.point set) run-time values are allowed.
func (c *codeChecker) expr(e *syntax.Expr) types.Type {
	if c.err != nil {
		return types.Bad
	}
	switch e.Kind {
	case syntax.Number:
		if e.IsFloat {
			return types.Float
		}
		return types.Int
	case syntax.Literal:
		return types.String
	case syntax.Ident:
		return c.ident(e)
	case syntax.Index:
		return c.index(e)
	case syntax.Field:
		return c.field(e)
	case syntax.Deref:
		return c.typedArg(e)
	case syntax.Call:
		return c.function(e)
	case syntax.Negate:
		c.wantInt(e.X)
		return types.Int
	case syntax.Cast:
		return c.cast(e)
	case syntax.AddrOf:
		c.variable(e.X)
		c.wantsNoGauge(e)
		c.setsFlag(e)
		return types.Address
	case syntax.Binary:
		return c.binary(e)
	case syntax.Assign, syntax.PostInc:
		return c.fail(e.Pos, "found an assignment inside an expression, expected it as a piece of code of its own")
	}
	return c.fail(e.Pos, "found %s, expected an expression over functions and variables", e)
}

func (c *codeChecker) ident(e *syntax.Expr) types.Type {
	if t, ok := c.vars[e.Text]; ok {
		return t
	}
	if e.Text == c.own || slices.Contains(c.counters, e.Text) {
		return c.readVariable(e)
	}
	if l, ok := c.b.lists[e.Text]; ok {
		c.lists[e.Text] = true
		return types.ListTypes[l.Kind]
	}
	t, ok := environment[e.Text]
	if !ok {
		return c.unknownName(e)
	}
	switch e.Text {
	case "$return":
		if c.point != types.Return {
			return c.fail(e.Pos, "found $return, expected it in code at a .return only: elsewhere there is no value yet")
		}
	case "$callee":
		if c.point != types.Call || c.post {
			return c.fail(e.Pos, "found $callee, expected it in preInsn code at a call site only: elsewhere nothing is being called")
		}
	case "$constraint":
		return c.fail(e.Pos, "found $constraint, expected $constraint[0] for what was chosen, [1] for its parent")
	case "$arg":
		c.wantEntry(e)
	case "$globalId":
		c.note(e.Pos, "$globalId", "numbers of resources that a probe can see")
	}
	return t
}

func (c *codeChecker) readVariable(e *syntax.Expr) types.Type {
	if c.point == types.Bad {
		return c.fail(e.Pos, "found the variable %s, expected it between (* and *): it has a value only while the target runs", e.Text)
	}
	if e.Text == c.own {
		return c.ownType
	}
	if e.Text == c.out.By {
		return c.fail(e.Pos, "found the value of %s, that the base is keyed by, expected another counter that is set to the same: in this one stands the kind of the object as well", e.Text)
	}
	return types.Int
}

func (c *codeChecker) wantEntry(e *syntax.Expr) {
	if c.point == types.OtherPoint {
		return // refused when it is compiled; DWARF may know where the argument is
	}
	if c.point != types.Entry || c.post {
		c.fail(e.Pos, "found $arg, expected it in preInsn code at an .entry only: later the registers hold something else; keep it in a counter")
	}
}

func (c *codeChecker) index(e *syntax.Expr) types.Type {
	if e.X.Kind != syntax.Ident || e.X.Text != "$arg" && e.X.Text != "$constraint" {
		return c.fail(e.Pos, "found an index of %s, expected one of $arg or $constraint", e.X)
	}
	n, ok := types.WholeNumber(e.Y)
	if !ok || n < 0 {
		return c.fail(e.Y.Pos, "found the index %s, expected a number such as 0", e.Y)
	}
	if e.X.Text == "$arg" {
		c.wantEntry(e)
		if n > pcl.MaxArg {
			return c.fail(e.Y.Pos, "found $arg[%d], expected at most [%d]", n, pcl.MaxArg)
		}
		return types.Arg
	}
	if c.up == nil {
		return c.fail(e.Pos, "found $constraint in a base, expected it in a constraint or a replacement")
	}
	if n >= int64(len(c.up)) {
		return c.fail(e.Y.Pos, "found $constraint[%d], expected at most [%d] for this path", n, len(c.up)-1)
	}
	return c.up[n]
}

func (c *codeChecker) field(e *syntax.Expr) types.Type {
	t := c.expr(e.X)
	switch t {
	case types.Bad:
		return types.Bad
	case types.Arg, types.Args:
		return c.typedArg(e)
	case types.Modules:
		return c.fail(e.Pos, "found .%s of %v, expected it of one: foreach m in ...", e.Text, t)
	}
	known, ok := fields[t]
	if !ok {
		return c.fail(e.Pos, "found .%s of %v, which has no fields, expected it of a function, a module, a loop or an argument", e.Text, t)
	}
	if f, ok := known[e.Text]; ok {
		return f
	}
	names := slices.Sorted(maps.Keys(known))
	return c.fail(e.Pos, "found the field .%s of %v, expected one of %v%s", e.Text, t, names, syntax.DidYouMean(e.Text, names))
}

// typedArg checks $arg.name, $arg[0]->field and what is built on them.
func (c *codeChecker) typedArg(e *syntax.Expr) types.Type {
	t := types.Arg
	if e.Kind == syntax.Deref {
		t = c.expr(e.X)
	}
	if t == types.Bad {
		return types.Bad
	}
	if t != types.Arg && t != types.Args {
		return c.fail(e.Pos, "found a field of %v, expected one of an argument", t)
	}
	if t == types.Args && e.Kind == syntax.Deref {
		return c.fail(e.Pos, "found $arg->%s, expected $arg.%s for the argument of this name, or $arg[0]->%s", e.Text, e.Text, e.Text)
	}
	return types.Arg
}

// function checks $function("name") and $line("file", 120); calls of the target's functions are pieces of code, not values.
func (c *codeChecker) function(e *syntax.Expr) types.Type {
	switch e.Text {
	case "$function":
		if len(e.Args) == 1 && e.Args[0].Kind == syntax.Literal {
			return types.Procs
		}
		return c.fail(e.Pos, `found %s, expected $function("name")`, e)
	case "$line":
		if len(e.Args) == 2 && e.Args[0].Kind == syntax.Literal && e.Args[1].Kind == syntax.Number && !e.Args[1].IsFloat {
			return types.OtherPoint
		}
		return c.fail(e.Pos, `found %s, expected $line("file.c", 120)`, e)
	}
	if c.point == types.Bad {
		return c.fail(e.Pos, `found a call of %q, expected $function("name") or $line("file.c", 120)`, e.Text)
	}
	if _, ok := types.Timers[e.Text]; ok {
		return c.fail(e.Pos, "found %s inside an expression, expected it as a piece of code of its own: it has no value", e.Text)
	}
	c.call(e)
	return types.Int
}

func (c *codeChecker) binary(e *syntax.Expr) types.Type {
	x, y := c.expr(e.X), c.expr(e.Y)
	if x == types.Bad || y == types.Bad {
		return types.Bad
	}
	if (x == types.String || y == types.String) && (e.Text == "==" || e.Text == "!=") && c.comparable(e, x, y) {
		return types.Int
	}
	for _, side := range []struct {
		t types.Type
		e *syntax.Expr
	}{{x, e.X}, {y, e.Y}} {
		if side.t != types.Int && side.t != types.Arg {
			return c.fail(side.e.Pos, "found %v on one side of %q, expected a whole number", side.t, e.Text)
		}
	}
	return types.Int
}

// comparable tells whether two sides, of which one is a string, can be compared: with a string or with an argument.
func (c *codeChecker) comparable(e *syntax.Expr, x, y types.Type) bool {
	for _, side := range []*syntax.Expr{e.X, e.Y} {
		if side.Kind == syntax.Literal && len(side.Text) > pcl.MaxText && x != y {
			c.fail(side.Pos, "found a text of %d bytes, expected at most %d to compare an argument with", len(side.Text), pcl.MaxText)
		}
	}
	return x == y || x == types.Arg || y == types.Arg
}

// cast checks (TYPE)x.
func (c *codeChecker) cast(e *syntax.Expr) types.Type {
	if _, ok := types.CastTypes[e.Text]; !ok {
		if strings.Contains(e.Text, "float") || strings.Contains(e.Text, "double") {
			return c.fail(e.Pos, "found the type %s, expected one of whole numbers, such as (int): probes do not read floating-point numbers", e.Text)
		}
		return c.fail(e.Pos, "found the type %q, expected (char), (short), (int), (long), one of them behind unsigned, or (bool), (int8_t) to (uint64_t), (size_t), (ssize_t)", e.Text)
	}
	c.wantInt(e.X)
	return types.Int
}
