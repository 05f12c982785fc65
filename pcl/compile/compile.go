package compile

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
)

// Plan says what must be inserted into the target so that the metric is counted at the focus. The error is
// *UnknownMetric, *NoConstraint, *Unsupported, *syntax.Error (which names the place in the text), or what the Env gave.
func Plan(l *pcl.Library, metric string, focus grid.Focus, env pcl.Env) (*pcl.Plan, error) {
	m, err := l.Find(metric)
	if err != nil {
		return nil, err
	}
	x, err := l.Match(m, focus)
	if err != nil {
		return nil, err
	}
	if err := x.Supported(m, focus); err != nil {
		return nil, err
	}
	if !flavored(m.Flavors, env) {
		return nil, fmt.Errorf("metric %s: %w", m.Name, grid.ErrUnsupported{What: "it",
			Needs: fmt.Sprintf("a target of flavor %s; this one is %s", strings.Join(m.Flavors, " or "), strings.Join(env.Flavors(), ", "))})
	}
	if err := reachable(l, focus, env); err != nil {
		return nil, err
	}
	c := &compiler{finder: finder{l, env}, env: env, m: m, focus: focus, vars: map[string]value{}, skip: map[pcl.FuncID]bool{}}
	return c.compile(x)
}

// maxSteps bounds the work of one Compile: statements run plus points asked for. Nested loops over all functions of a
// large program would not end otherwise.
const maxSteps = 1 << 20

// reachable refuses foci on another machine or on excluded code.
func reachable(l *pcl.Library, focus grid.Focus, env pcl.Env) error {
	if e := focus.Elements(grid.Machine); len(e) > 0 && e[0] != env.Machine() {
		return fmt.Errorf("%v: the target runs on the machine %q", focus, env.Machine())
	}
	if e := focus.Elements(grid.Code); len(e) > 0 {
		function := ""
		if len(e) > 1 {
			function = e[1]
		}
		if x, ok := l.Exclusion(e[0], function); ok {
			return fmt.Errorf("%v: this code is excluded by the statement at %v", focus, x.Pos)
		}
	}
	return nil
}

// flavored: something without flavors, or of flavor any, is for every target.
func flavored(flavors []string, env pcl.Env) bool {
	return len(flavors) == 0 || slices.Contains(flavors, "any") ||
		slices.ContainsFunc(env.Flavors(), func(f string) bool { return slices.Contains(flavors, f) })
}

// A compiler makes one Plan.
type compiler struct {
	finder
	env   pcl.Env
	m     *pcl.Metric
	focus grid.Focus
	plan  *pcl.Plan
	skip  map[pcl.FuncID]bool // callees that are left out of the flags' call sites
	steps int

	parts parts // of the item that the focus selects

	// of the body that is being compiled
	at     *pcl.Use // how the item is chosen; nil: by the focus
	in     *pcl.Body
	cons   *pcl.Constraint // nil in a base
	index  map[string]int  // variables that it can name
	flag   int             // its own variable if it is a flag, else -1
	guards []int           // what "constrained" means in it
	site   point           // that the code is compiled for, or the first of several for which it is the same; zero if there is none
	vars   map[string]value

	// fromLibrary are the functions that lists of libraries name: whoever wrote them knows the types. So no file of debug symbols is read for them.
	fromLibrary map[pcl.FuncID]bool
	absent      map[string]bool      // names of the plan's Absent
	raw         map[*pcl.Expr]string // of a type that nobody says, by what in them that is so for
	rawVars     map[int]string       // counters that such a value was put into
}

func (c *compiler) compile(x pcl.Match) (*pcl.Plan, error) {
	counting := x.Body(c.m)
	c.plan = &pcl.Plan{Pair: grid.PairKey{Metric: c.m.Name, Focus: c.focus}, Kind: c.m.VariableKind(counting.Kind), KernelName: counting.Kernel, Event: counting.Event,
		ExcludeParked: c.m.ExcludeParked, Samples: c.m.Samples, Distribution: counting.Distribution}
	c.chooseThreads()
	if err := c.resolve(&x); err != nil {
		return nil, err
	}
	if counting.Kind == pcl.Kernel && len(x.Flags) == 1 {
		return c.plan, c.compileKernel(&x)
	}
	counters := map[string]int{}
	if counting.Kind != pcl.Kernel && counting.Kind != pcl.Void {
		counters[c.m.Ident] = c.newVar(c.m.Ident, c.plan.Kind)
	}
	for _, name := range c.m.Counters {
		if counting.Kind != pcl.Kernel { // which has no code that could use them
			counters[name] = c.newVar(name, pcl.Counter)
		}
	}
	if x.Replace == nil {
		if err := c.skipLists(); err != nil {
			return nil, err
		}
	}
	var flags []int
	for _, f := range x.Flags {
		c.flag = c.newVar(f.Ident, pcl.Counter)
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

func (c *compiler) newVar(name string, kind pcl.Kind) int {
	c.plan.Vars = append(c.plan.Vars, pcl.Var{Name: name, Kind: kind})
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
	for _, name := range c.m.Base.Lists {
		if c.lib.List(name).Kind != "procedure" {
			continue
		}
		fns, err := c.listProcs(c.lib.List(name))
		if err != nil {
			return err
		}
		for _, f := range fns {
			c.skip[f] = true
		}
	}
	return nil
}
