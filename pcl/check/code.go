package check

import (
	"maps"
	"slices"

	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// A codeChecker checks one body. The first error ends it.
type codeChecker struct {
	b        *builder
	out      *pcl.Body
	own      string // name of the variable that the body counts in
	ownType  types.Type
	flag     bool         // the body is that of a flag constraint
	holds    bool         // the metric is of style SampledFunction
	counters []string     // of the metric
	up       []types.Type // $constraint[i]; nil in a base
	vars     map[string]types.Type
	lists    map[string]bool
	point    types.Type // of the insertion that is checked; types.Bad outside code
	post     bool       // it is behind the instruction
	err      error
}

// checkBody checks a base or a constraint's body and fills in what the compiler wants to know of it.
func (c *codeChecker) checkBody(base *syntax.Base) (*pcl.Body, error) {
	c.out = &pcl.Body{Pos: base.Pos, Block: base.Body, By: base.By}
	c.vars, c.lists = map[string]types.Type{}, map[string]bool{}
	c.kind(base)
	if c.err == nil && base.Body != nil {
		c.stmt(base.Body)
	}
	c.out.Lists = slices.Sorted(maps.Keys(c.lists))
	return c.out, c.err
}

func (c *codeChecker) kind(base *syntax.Base) {
	word := base.Kind
	switch word {
	case "hwCounter", "hwTimer":
		if word == "hwCounter" && !hasCode(base) {
			c.out.Event, word = base.Arg, "kernel"
			break
		}
		c.note(base.Pos, word+"("+base.Arg+")", pcl.ProbesReadCounters)
		word = map[string]string{"hwCounter": "counter", "hwTimer": "wallTimer"}[word]
	case "histogram":
		c.out.Distribution = true
		word = base.Arg
	}
	c.out.Kind, c.out.Kernel = pcl.KindNames[word], ""
	switch c.out.Kind {
	case pcl.Kernel:
		if c.out.Event != "" {
			break
		}
		c.out.Kernel = base.Arg
		if base.Arg == "" {
			c.fail(base.Pos, `found kernel(""), expected the name of a quantity of the kernel, such as kernel("cpu_time")`)
		}
		if hasCode(base) {
			c.fail(base.Body.Stmts[0].Pos, "found a statement below a kernel base, expected none: the kernel counts by itself")
		}
	case pcl.Counter, pcl.Gauge:
		c.ownType = types.Int
	case pcl.WallTimer, pcl.ProcessTimer:
		c.ownType = types.Timer
	case pcl.Void:
		c.ownType = types.Void
	}
}

func hasCode(base *syntax.Base) bool { return base.Body != nil && len(base.Body.Stmts) > 0 }

func (c *codeChecker) fail(pos syntax.Pos, format string, args ...any) types.Type {
	if c.err == nil {
		c.err = syntax.ErrorAt(pos, format, args...)
	}
	return types.Bad
}

// note remembers that the body means something that cannot be compiled yet.
func (c *codeChecker) note(pos syntax.Pos, what, needs string) {
	if c.out.Unsupported == nil {
		c.out.Unsupported = &pcl.Unsupported{Pos: pos, What: what, Needs: needs}
	}
}

func (c *codeChecker) stmt(s *syntax.Stmt) {
	if c.err != nil {
		return
	}
	switch s.Kind {
	case syntax.Block:
		for _, inner := range s.Stmts {
			c.stmt(inner)
		}
	case syntax.Foreach:
		c.foreach(s)
	case syntax.If:
		if t := c.expr(s.Expr); t != types.Int && t != types.Bad {
			c.fail(s.Expr.Pos, "found %v, expected a condition", t)
		}
		c.stmt(s.Body)
	case syntax.Instr:
		c.insertion(s)
	}
}

func (c *codeChecker) foreach(s *syntax.Stmt) {
	t := c.expr(s.Expr)
	elem := t.Element()
	if elem == types.Bad {
		c.fail(s.Expr.Pos, "found %v, expected a list (a resourceList, $procedures, $modules, .funcs, .calls)", t)
		return
	}
	if s.Var == c.own || slices.Contains(c.counters, s.Var) {
		c.fail(s.Pos, "found the loop variable %q, expected a name that is not a variable of the metric", s.Var)
	}
	old, was := c.vars[s.Var]
	c.vars[s.Var] = elem
	c.stmt(s.Body)
	delete(c.vars, s.Var)
	if was {
		c.vars[s.Var] = old
	}
}

func (c *codeChecker) insertion(s *syntax.Stmt) {
	t := c.expr(s.Expr)
	if c.err != nil {
		return
	}
	if !t.IsPoint() {
		c.fail(s.Expr.Pos, "found %v, expected a point: .entry, .return, a call site out of .calls, or .enter, .exit, .start_iter, .end_iter of a loop", t)
		return
	}
	if t == types.Return && s.Post {
		c.fail(s.Expr.Pos, "found postInsn at .return, expected preInsn: behind its return a function is no longer there")
		return
	}
	c.out.Inserts = true
	c.out.Constrained = c.out.Constrained || s.Constrained
	if t == types.Call {
		c.out.Plain = true
	}
	c.point, c.post = t, s.Post
	for _, code := range s.Code {
		if code.Cond != nil {
			if t := c.expr(code.Cond); t != types.Int && t != types.Arg && t != types.Bad {
				c.fail(code.Cond.Pos, "found %v, expected a condition", t)
			}
		}
		c.primitive(code.Expr)
	}
	c.point = types.Bad
}

// primitive checks one piece of code: an assignment, an increment or a call.
func (c *codeChecker) primitive(e *syntax.Expr) {
	switch {
	case c.err != nil:
	case e.Kind == syntax.Assign:
		c.variable(e.X)
		c.wantInt(e.Y)
		c.setsFlag(e)
		c.wantsAddition(e)
	case e.Kind == syntax.PostInc:
		c.variable(e.X)
		c.setsFlag(e)
		c.wantsAddition(e)
	case e.Kind == syntax.Call:
		c.call(e)
	default:
		c.fail(e.Pos, "found an expression without an effect, expected an assignment, an increment or a call")
	}
}

// begins and ends tell where an activation of a function or of a loop begins and ends.
func begins(t types.Type) bool { return t == types.Entry || t == types.LoopEnter }

func ends(t types.Type) bool { return t == types.Return || t == types.LoopExit }

// setsFlag: what is not "flag = 1" where something begins or "flag = 0" where it ends cannot belong to an activation.
func (c *codeChecker) setsFlag(e *syntax.Expr) {
	if !c.flag || e.X.Text != c.own {
		return
	}
	if e.Kind == syntax.Assign && e.Text == "=" && !c.post {
		n, isNumber := types.WholeNumber(e.Y)
		if isNumber && (n != 0 && begins(c.point) || n == 0 && ends(c.point)) {
			return
		}
	}
	c.out.Plain = true
}

// wantsAddition refuses what adds no value, or always the same, to a counter that has a distribution.
func (c *codeChecker) wantsAddition(e *syntax.Expr) {
	switch {
	case !c.out.Distribution || e.X.Kind != syntax.Ident || e.X.Text != c.own:
	case e.Kind == syntax.PostInc:
		c.fail(e.Pos, "found %s for a base of kind histogram, expected %s += VALUE: of values that are all 1 there is no distribution; count with a base of kind counter",
			e, c.own)
	case e.Text == "=":
		c.fail(e.Pos, "found an assignment to %s, whose base is a histogram, expected %s += VALUE: each value that is added is one of the distribution",
			c.own, c.own)
	}
}

// variable checks what is assigned to.
func (c *codeChecker) variable(e *syntax.Expr) {
	if e.Kind != syntax.Ident {
		c.fail(e.Pos, "found %s, expected the name of a variable", e)
		return
	}
	if slices.Contains(c.counters, e.Text) {
		return
	}
	switch {
	case e.Text != c.own:
		c.unknownVariable(e)
	case c.ownType == types.Timer:
		c.fail(e.Pos, "found an assignment to the timer %s, expected a call that starts or stops it", e.Text)
	case c.ownType != types.Int:
		c.fail(e.Pos, "found an assignment to %s, expected none: its kind has no variable", e.Text)
	}
}

func (c *codeChecker) variables() []string {
	return append([]string{c.own}, c.counters...)
}

func (c *codeChecker) wantInt(e *syntax.Expr) {
	if t := c.expr(e); t != types.Int && t != types.Arg && t != types.Bad {
		c.fail(e.Pos, "found %v, expected a whole number", t)
	}
}
