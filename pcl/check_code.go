package pcl

import (
	"maps"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A codeChecker checks one body. The first error ends it.
type codeChecker struct {
	b        *builder
	out      *body
	own      string // name of the variable that the body counts in
	ownType  typ
	flag     bool     // the body is that of a flag constraint
	holds    bool     // the metric is of style SampledFunction
	counters []string // of the metric
	up       []typ    // $constraint[i]; nil in a base
	vars     map[string]typ
	lists    map[string]bool
	point    typ  // of the insertion that is checked; tBad outside code
	post     bool // it is behind the instruction
	err      error
}

// checkBody checks a base or a constraint's body and fills in what the compiler wants to know of it.
func (c *codeChecker) checkBody(base *syntax.Base) (*body, error) {
	c.out = &body{pos: base.Pos, block: base.Body, by: base.By}
	c.vars, c.lists = map[string]typ{}, map[string]bool{}
	c.kind(base)
	if c.err == nil && base.Body != nil {
		c.stmt(base.Body)
	}
	c.out.lists = slices.Sorted(maps.Keys(c.lists))
	return c.out, c.err
}

func (c *codeChecker) kind(base *syntax.Base) {
	word := base.Kind
	switch word {
	case "hwCounter", "hwTimer":
		if word == "hwCounter" && !hasCode(base) {
			c.out.event, word = base.Arg, "kernel"
			break
		}
		c.note(base.Pos, word+"("+base.Arg+")", probesReadCounters)
		word = map[string]string{"hwCounter": "counter", "hwTimer": "wallTimer"}[word]
	case "histogram":
		c.out.distribution = true
		word = base.Arg
	}
	c.out.kind, c.out.kernel = kindNames[word], ""
	switch c.out.kind {
	case Kernel:
		if c.out.event != "" {
			break
		}
		c.out.kernel = base.Arg
		if base.Arg == "" {
			c.fail(base.Pos, `found kernel(""), expected the name of a quantity of the kernel, such as kernel("cpu_time")`)
		}
		if hasCode(base) {
			c.fail(base.Body.Stmts[0].Pos, "found a statement below a kernel base, expected none: the kernel counts by itself")
		}
	case Counter, Gauge:
		c.ownType = tInt
	case WallTimer, ProcessTimer:
		c.ownType = tTimer
	case Void:
		c.ownType = tVoid
	}
}

func hasCode(base *syntax.Base) bool { return base.Body != nil && len(base.Body.Stmts) > 0 }

func (c *codeChecker) fail(pos syntax.Pos, format string, args ...any) typ {
	if c.err == nil {
		c.err = errorAt(pos, format, args...)
	}
	return tBad
}

// note remembers that the body means something that cannot be compiled yet.
func (c *codeChecker) note(pos syntax.Pos, what, needs string) {
	if c.out.unsupported == nil {
		c.out.unsupported = &Unsupported{Pos: pos, What: what, Needs: needs}
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
		if t := c.expr(s.Expr); t != tInt && t != tBad {
			c.fail(s.Expr.Pos, "found %v, expected a condition", t)
		}
		c.stmt(s.Body)
	case syntax.Instr:
		c.insertion(s)
	}
}

func (c *codeChecker) foreach(s *syntax.Stmt) {
	t := c.expr(s.Expr)
	elem := t.element()
	if elem == tBad {
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
	if !t.isPoint() {
		c.fail(s.Expr.Pos, "found %v, expected a point: .entry, .return, a call site out of .calls, or .enter, .exit, .start_iter, .end_iter of a loop", t)
		return
	}
	if t == tReturn && s.Post {
		c.fail(s.Expr.Pos, "found postInsn at .return, expected preInsn: behind its return a function is no longer there")
		return
	}
	if t == tCall {
		c.out.plain = true
	}
	c.point, c.post = t, s.Post
	for _, code := range s.Code {
		if code.Cond != nil {
			if t := c.expr(code.Cond); t != tInt && t != tArg && t != tBad {
				c.fail(code.Cond.Pos, "found %v, expected a condition", t)
			}
		}
		c.primitive(code.Expr)
	}
	c.point = tBad
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
func begins(t typ) bool { return t == tEntry || t == tLoopEnter }
func ends(t typ) bool   { return t == tReturn || t == tLoopExit }

// setsFlag: what is not "flag = 1" where something begins or "flag = 0" where it ends cannot belong to an activation.
func (c *codeChecker) setsFlag(e *syntax.Expr) {
	if !c.flag || e.X.Text != c.own {
		return
	}
	if e.Kind == syntax.Assign && e.Text == "=" && !c.post {
		n, isNumber := wholeNumber(e.Y)
		if isNumber && (n != 0 && begins(c.point) || n == 0 && ends(c.point)) {
			return
		}
	}
	c.out.plain = true
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
	case c.ownType == tTimer:
		c.fail(e.Pos, "found an assignment to the timer %s, expected a call that starts or stops it", e.Text)
	case c.ownType != tInt:
		c.fail(e.Pos, "found an assignment to %s, expected none: its kind has no variable", e.Text)
	}
}

func (c *codeChecker) variables() []string {
	return append([]string{c.own}, c.counters...)
}

func (c *codeChecker) wantInt(e *syntax.Expr) {
	if t := c.expr(e); t != tInt && t != tArg && t != tBad {
		c.fail(e.Pos, "found %v, expected a whole number", t)
	}
}

func (c *codeChecker) call(e *syntax.Expr) {
	if t, ok := timers[e.Text]; ok {
		c.timer(e, t.kind, t.start)
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
	known := slices.Concat(slices.Sorted(maps.Keys(timers)), slices.Sorted(maps.Keys(notYet)))
	if near := syntax.Nearest(e.Text, known); near != "" {
		c.fail(e.Pos, "found a call of %q, which is no primitive (did you mean %q?), expected a primitive or a function of the target", e.Text, near)
		return
	}
	if !c.calledName(e) {
		return
	}
	if len(e.Args) > maxCallArgs {
		c.fail(e.Args[maxCallArgs].Pos, "found %d arguments of %s, expected at most %d: more would be passed on the stack", len(e.Args), e.Text, maxCallArgs)
		return
	}
	c.args(e)
}

// maxCallArgs are passed in registers.
const maxCallArgs = 6

func (c *codeChecker) args(e *syntax.Expr) {
	for _, a := range e.Args {
		switch t := c.expr(a); t {
		case tInt, tArg, tAddress, tBad:
		case tString:
			c.fail(a.Pos, "found a string that is given to the function %s of the target, expected numbers and addresses of counters: no text can be given; --watch and the report show what is counted", e.Text)
		default:
			c.fail(a.Pos, "found %v, expected a number or the address of a counter", t)
		}
	}
}

func (c *codeChecker) timer(e *syntax.Expr, kind Kind, start bool) {
	if c.flag {
		c.fail(e.Pos, "found %s in a flag constraint, expected assignments to %s", e.Text, c.own)
		return
	}
	if len(e.Args) != 1 || e.Args[0].Kind != syntax.Ident || e.Args[0].Text != c.own {
		c.fail(e.Pos, "found %s, expected %s(%s): the argument is the metric's own timer", e, e.Text, c.own)
		return
	}
	if c.out.kind != kind {
		c.fail(e.Pos, "found %s for a base of kind %v, expected one for this kind", e.Text, c.out.kind)
		return
	}
	if c.post || start && !begins(c.point) || !start && !ends(c.point) {
		c.out.plain = true
	}
}

// matchHierarchy reads the head of a match path.
func matchHierarchy(d *syntax.Def) (grid.Hierarchy, error) {
	h, err := grid.ParseHierarchy(d.Path[0])
	if err != nil {
		var names []string
		for h := range grid.NumHierarchies {
			names = append(names, h.String())
		}
		return 0, errorAt(d.Pos, "constraint %s: found the hierarchy %q, expected one of %s%s", d.Name, d.Path[0],
			strings.Join(names, ", "), syntax.DidYouMean(d.Path[0], names))
	}
	return h, nil
}
