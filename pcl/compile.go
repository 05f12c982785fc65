package pcl

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// maxSteps bounds the work of one Compile: statements run plus points asked for. Nested loops over all functions of a
// large program would not end otherwise.
const maxSteps = 1 << 20

// Compile says what must be inserted into the target so that the metric is counted at the focus. The error is
// *UnknownMetric, *NoConstraint, *Unsupported, *syntax.Error (which names the place in the text), or what the Env gave.
func (l *Library) Compile(metric string, focus grid.Focus, env Env) (*Plan, error) {
	m, err := l.find(metric)
	if err != nil {
		return nil, err
	}
	x, err := l.match(m, focus)
	if err != nil {
		return nil, err
	}
	if err := x.supported(m, focus); err != nil {
		return nil, err
	}
	if !flavored(m.flavors, env) {
		return nil, fmt.Errorf("metric %s: %w", m.Name, grid.ErrUnsupported{What: "it",
			Needs: fmt.Sprintf("a target of flavor %s; this one is %s", strings.Join(m.flavors, " or "), strings.Join(env.Flavors(), ", "))})
	}
	if err := l.reachable(focus, env); err != nil {
		return nil, err
	}
	c := &compiler{lib: l, env: env, m: m, focus: focus, vars: map[string]value{}, skip: map[FuncID]bool{}}
	return c.compile(x)
}

// body is what counts: the replacement, or the base.
func (x *matching) body(m *metric) *body {
	if x.replace != nil {
		return x.replace.body
	}
	return m.base
}

// supported finds what this version cannot do in the bodies that apply, whether or not the target has the functions.
func (x *matching) supported(m *metric, focus grid.Focus) error {
	counting := x.body(m)
	if counting.unsupported != nil {
		return counting.unsupported
	}
	for _, f := range x.bodies() {
		if f.body.unsupported != nil {
			return f.body.unsupported
		}
	}
	if err := x.restricts(m, focus); err != nil {
		return err
	}
	if counting.event != "" && len(x.flags) > 0 {
		return &Unsupported{Pos: counting.pos, What: fmt.Sprintf("hwCounter(%q) at %v", counting.event, focus), Needs: probesReadCounters}
	}
	if counting.kind == Kernel && len(x.flags) > 1 {
		return &Unsupported{Pos: counting.pos, What: fmt.Sprintf("%s, kept by the kernel, at %v", m.Name, focus), Needs: x.rowsNeed()}
	}
	if err := counting.gaugeAt(m, focus); err != nil {
		return err
	}
	if len(focus.Elements(grid.Machine)) > 1 {
		return &Unsupported{Pos: counting.pos, What: fmt.Sprintf("%s for a single CPU", m.Name), Needs: "counts by CPU"}
	}
	if n := len(focus.Elements(grid.Process)); n > 2 {
		return fmt.Errorf("%v: found %d names below /Process, expected a process and a thread", focus, n)
	}
	return nil
}

// reachable refuses foci on another machine or on excluded code.
func (l *Library) reachable(focus grid.Focus, env Env) error {
	if e := focus.Elements(grid.Machine); len(e) > 0 && e[0] != env.Machine() {
		return fmt.Errorf("%v: the target runs on the machine %q", focus, env.Machine())
	}
	if e := focus.Elements(grid.Code); len(e) > 0 {
		function := ""
		if len(e) > 1 {
			function = e[1]
		}
		if x, ok := l.exclusion(e[0], function); ok {
			return fmt.Errorf("%v: this code is excluded by the statement at %v", focus, x.pos)
		}
	}
	return nil
}

// flavored: something without flavors, or of flavor any, is for every target.
func flavored(flavors []string, env Env) bool {
	return len(flavors) == 0 || slices.Contains(flavors, "any") ||
		slices.ContainsFunc(env.Flavors(), func(f string) bool { return slices.Contains(flavors, f) })
}

// A compiler makes one Plan.
type compiler struct {
	lib   *Library
	env   Env
	m     *metric
	focus grid.Focus
	plan  *Plan
	skip  map[FuncID]bool // callees that are left out of the flags' call sites
	steps int

	parts parts // of the item that the focus selects

	// of the body that is being compiled
	at     *use // how the item is chosen; nil: by the focus
	in     *body
	cons   *constraint    // nil in a base
	index  map[string]int // variables that it can name
	flag   int            // its own variable if it is a flag, else -1
	guards []int          // what "constrained" means in it
	site   point          // that the code is compiled for, or the first of several for which it is the same; zero if there is none
	vars   map[string]value

	// fromLibrary are the functions that lists of libraries name: whoever wrote them knows the types. So no file of debug symbols is read for them.
	fromLibrary map[FuncID]bool
	absent      map[string]bool  // names of the plan's Absent
	raw         map[*Expr]string // of a type that nobody says, by what in them that is so for
	rawVars     map[int]string   // counters that such a value was put into
}

func (c *compiler) compile(x matching) (*Plan, error) {
	counting := x.body(c.m)
	c.plan = &Plan{Pair: grid.PairKey{Metric: c.m.Name, Focus: c.focus}, Kind: c.m.gaugeKind(counting.kind), KernelName: counting.kernel, Event: counting.event,
		ExcludeParked: c.m.noParked, Distribution: counting.distribution}
	c.chooseThreads()
	if err := c.resolve(&x); err != nil {
		return nil, err
	}
	if counting.kind == Kernel && len(x.flags) == 1 {
		return c.plan, c.compileRow(&x)
	}
	counters := map[string]int{}
	if counting.kind != Kernel && counting.kind != Void {
		counters[c.m.ident] = c.newVar(c.m.ident, c.plan.Kind)
	}
	for _, name := range c.m.counters {
		if counting.kind != Kernel { // which has no code that could use them
			counters[name] = c.newVar(name, Counter)
		}
	}
	if x.replace == nil {
		if err := c.skipLists(); err != nil {
			return nil, err
		}
	}
	var flags []int
	for _, f := range x.flags {
		c.flag = c.newVar(f.ident, Counter)
		c.guards = slices.Clone(flags)
		if err := c.compileFlag(&x, f); err != nil {
			return nil, err
		}
		flags = append(flags, c.flag)
	}
	if err := c.chooseKey(&x, counters); err != nil {
		return nil, err
	}
	c.flag, c.index, c.guards = -1, counters, flags
	before := len(c.plan.Requests)
	if err := c.compileCounting(&x); err != nil {
		return c.plan, err
	}
	if err := c.pointless(&x, before); err != nil {
		return nil, err
	}
	c.followFiles(&x)
	return c.plan, nil
}

func (c *compiler) newVar(name string, kind Kind) int {
	c.plan.Vars = append(c.plan.Vars, Var{name, kind})
	return len(c.plan.Vars) - 1
}

func (c *compiler) chooseThreads() {
	e := c.focus.Elements(grid.Process)
	if len(e) > 0 {
		c.plan.Process = e[0]
	}
	if len(e) > 1 {
		c.plan.Thread = e[1]
	}
}

// skipLists: calls of the functions that the base counts must not switch its flags off, or waiting in a lock would not
// be waiting in the function that takes it.
func (c *compiler) skipLists() error {
	for _, name := range c.m.base.lists {
		if c.lib.lists[name].kind != "procedure" {
			continue
		}
		fns, err := c.listProcs(c.lib.lists[name])
		if err != nil {
			return err
		}
		for _, f := range fns {
			c.skip[f] = true
		}
	}
	return nil
}

func (c *compiler) compileBody(b *body) error {
	c.in = b
	if b.block == nil {
		return nil
	}
	return c.stmt(b.block)
}

func (c *compiler) step(pos syntax.Pos, n int) error {
	c.steps += n
	if c.steps > maxSteps {
		return errorAt(pos, "metric %s at %v: found more than %d steps to compile, expected less; loop over fewer functions", c.m.Name, c.focus, maxSteps)
	}
	return nil
}

func (c *compiler) stmt(s *syntax.Stmt) error {
	if err := c.step(s.Pos, 1); err != nil {
		return err
	}
	switch s.Kind {
	case syntax.Block:
		for _, inner := range s.Stmts {
			if err := c.stmt(inner); err != nil {
				return err
			}
		}
		return nil
	case syntax.Foreach:
		return c.foreach(s)
	case syntax.If:
		cond, err := c.eval(s.Expr)
		if err != nil || cond.n == 0 {
			return err
		}
		return c.stmt(s.Body)
	}
	return c.insertion(s)
}

func (c *compiler) foreach(s *syntax.Stmt) error {
	all, err := c.eval(s.Expr)
	if err != nil {
		return err
	}
	old, was := c.vars[s.Var]
	for _, v := range all.each() {
		c.vars[s.Var] = v
		if err := c.stmt(s.Body); err != nil {
			return err
		}
	}
	delete(c.vars, s.Var)
	if was {
		c.vars[s.Var] = old
	}
	return nil
}

func (c *compiler) insertion(s *syntax.Stmt) error {
	at, err := c.eval(s.Expr)
	if err != nil {
		return err
	}
	if err := c.step(s.Pos, len(at.points)); err != nil {
		return err
	}
	for _, group := range byFunction(s.Code, at.points) {
		code, err := c.code(s.Code, group)
		if err != nil {
			return err
		}
		c.request(s, group, code)
	}
	return nil
}

// byFunction groups points for which the code is the same: all of them, or where it asks for types those of one function.
func byFunction(code []*syntax.Code, all []point) (groups [][]point) {
	if !asksTypes(code) {
		return [][]point{all}
	}
	if len(all) == 0 {
		return nil
	}
	from := 0
	for i := range all {
		if all[i].fn != all[from].fn || all[i].where != all[from].where {
			groups, from = append(groups, all[from:i]), i
		}
	}
	return append(groups, all[from:])
}

// code compiles the pieces between (* and *) for points that are alike; wrong code is an error also where there are none.
func (c *compiler) code(pieces []*syntax.Code, at []point) (code []Instr, err error) {
	c.site = point{}
	if len(at) > 0 {
		c.site = at[0]
	}
	for _, piece := range pieces {
		in, keep, err := c.primitive(piece)
		if err != nil {
			return nil, err
		}
		if keep {
			code = append(code, in)
		}
	}
	return code, nil
}

// request asks for code at points.
func (c *compiler) request(s *syntax.Stmt, points []point, code []Instr) {
	if len(code) == 0 {
		return
	}
	var guards []int
	if s.Constrained {
		guards = c.guards
	}
	for _, p := range points {
		c.plan.Requests = append(c.plan.Requests, Request{Func: p.fn, Where: p.where, Site: p.site, Post: s.Post, Prepend: s.Prepend,
			Guards: guards, Code: code, Listed: c.fromLibrary[p.fn]})
	}
}
