package pcl

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
)

// A focus on an item is the union of what it stands for. Nothing is added up: one constraint of the metric is applied to all
// parts at once, so that a function is counted once however often it is named, and a timer runs from the outermost entry
// into any part.

// A union is what applies to a metric at an item.
type union struct {
	item  *GroupingItem
	first *constraint // it stands for all of them among the flags, or as the replacement
	uses  []use
}

// A use is a constraint with the parts it is for: the functions and modules of a code item together, its loops together
// (path is nil then), or one object.
type use struct {
	cons *constraint
	path []string
}

// match finds the constraints of a metric that apply at the focus.
func (l *Library) match(m *metric, focus grid.Focus) (matching, error) {
	item, err := l.Item(focus)
	if err != nil {
		return matching{}, err
	}
	return m.match(focus, item)
}

// matchItem finds what applies to the parts of an item. All parts must be restricted in the same way, since they share one
// flag, or one variable.
func (x *matching) matchItem(m *metric, focus grid.Focus, item *GroupingItem) error {
	if e := focus.Elements(item.Base); len(e) > 0 {
		return fmt.Errorf("%v: %v stands for parts of /%v, and /%v/%s is chosen as well; name one of them", focus, item.Focus(), item.Base,
			item.Base, strings.Join(e, "/"))
	}
	uses, err := m.usesFor(focus, item)
	if err != nil {
		return err
	}
	first := uses[0].cons
	x.union = &union{item: item, first: first, uses: uses}
	if first.key {
		return errorAt(first.pos, "metric %s at %v: %s is a key, which selects single objects; name one of the objects of the item", m.Name, focus, first.ident)
	}
	for _, u := range uses[1:] {
		if err := sameWay(m, focus, first, u.cons); err != nil {
			return err
		}
	}
	switch {
	case first.replace && x.replace != nil:
		return errorAt(first.pos, "metric %s at %v: both %s and %s would replace the base; name one hierarchy only", m.Name, focus, x.replace.ident, first.ident)
	case first.replace:
		x.replace = first
	case first.body != nil:
		x.flags = append(x.flags, first)
	}
	return nil
}

// sameWay refuses parts that cannot share a variable. Code that is not pairs of an entry and a return would switch off at one part
// what another one has switched on.
func sameWay(m *metric, focus grid.Focus, a, b *constraint) error {
	together := a.how() == b.how()
	if together && a.body != nil {
		together = a.body.kind == b.body.kind && (a == b || !a.body.plain && !b.body.plain || a.replace && (a.body.kind == Counter || a.body.kind == Gauge))
		together = together && (a != b || !a.body.plain || a.hierarchy == grid.Code)
	}
	if together {
		return nil
	}
	return errorAt(b.pos, "metric %s at %v: %s and %s cannot be joined for the parts of one item; make an item for each kind of them", m.Name, focus, a.ident, b.ident)
}

// usesFor finds the constraint for each part of an item.
func (m *metric) usesFor(focus grid.Focus, item *GroupingItem) ([]use, error) {
	var uses []use
	for _, p := range item.Paths() {
		cons, err := m.constraintFor(focus, item, p)
		if err != nil {
			return nil, err
		}
		u := use{cons: cons, path: p}
		if item.Base == grid.Code {
			u.path = nil
		}
		if u.path != nil || !slices.ContainsFunc(uses, func(o use) bool { return o.cons == cons }) {
			uses = append(uses, u)
		}
	}
	return uses, nil
}

// constraintFor is the constraint for one part. Functions and modules are taken together, as one module if the metric can be
// read at modules.
func (m *metric) constraintFor(focus grid.Focus, item *GroupingItem, path []string) (*constraint, error) {
	lengths := []int{len(path)}
	if item.Base == grid.Code && len(path) <= 2 {
		lengths = []int{1, 2}
	}
	for _, n := range lengths {
		var found *constraint
		for _, c := range m.constraints {
			if c.hierarchy != item.Base || !c.matchesPart(path, n) {
				continue
			}
			if found != nil {
				return nil, errorAt(c.pos, "metric %s at %v: both %s and %s apply to %v, expected one of them", m.Name, focus, found.ident, c.ident, item.Focus())
			}
			found = c
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, &NoConstraint{Metric: m.Name, Hierarchy: item.Base, Focus: focus, Known: m.paths()}
}

// matchesPart reports whether the constraint is for parts with n elements: for code, where many are taken together, only
// one that is for every module is.
func (c *constraint) matchesPart(path []string, n int) bool {
	if c.hierarchy != grid.Code {
		return c.matches(path)
	}
	return len(c.path) == n-1 && !slices.ContainsFunc(c.path, func(e string) bool { return e != "*" })
}

// bodies are the constraints whose bodies are compiled beside what counts, all those of an item included.
func (x *matching) bodies() []*constraint {
	out := slices.Clone(x.flags)
	if x.union != nil {
		for _, u := range x.union.uses {
			if u.cons.body != nil && !slices.Contains(out, u.cons) {
				out = append(out, u.cons)
			}
		}
	}
	return out
}

// A use's parts are loops if its constraint is for what is below a function.
func (u *use) ofLoops() bool { return u.cons.hierarchy == grid.Code && len(u.cons.path) == 2 }

// usesOf are the uses of a constraint: those of the item that it stands for, or the one that the focus chooses.
func (x *matching) usesOf(cons *constraint) []use {
	if x.union != nil && cons == x.union.first {
		return x.union.uses
	}
	return nil
}

// parts are what of an item of code the target has: functions, and loops of other functions.
type parts struct {
	funcs []FuncID
	loops []point
}

// resolve finds what of the item the target has, and leaves the rest out. It is an error if there is nothing.
func (c *compiler) resolve(x *matching) error {
	if x.union == nil {
		return nil
	}
	u := *x.union
	if u.item.Base == grid.Code {
		c.parts = parts{funcs: c.lib.Functions(u.item, c.env)}
		c.parts.loops = c.loopsOf(u.item)
	}
	u.uses = slices.DeleteFunc(slices.Clone(u.uses), func(u use) bool { return !c.has(u) })
	if len(u.uses) == 0 {
		return c.missing(u.item)
	}
	x.union = &u
	return nil
}

// has reports whether the target has what a use is for. All objects of a kind are always there, if only as none.
func (c *compiler) has(u use) bool {
	switch {
	case u.path == nil && u.ofLoops():
		return len(c.parts.loops) > 0
	case u.path == nil:
		return len(c.parts.funcs) > 0
	case len(u.path) == 1:
		return true
	}
	_, err := c.env.Object(u.cons.hierarchy, slices.Clone(u.path))
	return err == nil
}

// loopsOf finds the loops of an item. One in a function of the item, or in another loop of it, adds nothing.
func (c *compiler) loopsOf(item *GroupingItem) []point {
	var out []point
	paths := item.Paths()
	for _, p := range paths {
		if len(p) != 3 || c.lib.Excluded(p[0], p[1]) || slices.ContainsFunc(paths, func(q []string) bool { return insideLoop(p, q) }) {
			continue
		}
		for _, f := range unique(c.env.Function(p[0], p[1])) {
			n, ok := c.env.Loop(f, p[2])
			at := point{fn: f, site: n}
			if ok && !slices.Contains(c.parts.funcs, f) && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// insideLoop reports whether the loop p lies in the loop q of the same function: loop_1.2 in loop_1.
func insideLoop(p, q []string) bool {
	return len(p) == 3 && len(q) == 3 && slices.Equal(p[:2], q[:2]) && strings.HasPrefix(p[2], q[2]+".")
}

// missing says that the target has nothing of what an item stands for.
func (c *compiler) missing(it *GroupingItem) error {
	const few = 3
	var names []string
	for _, f := range it.Foci[:min(len(it.Foci), few)] {
		name := f.String()
		if it.Base == grid.Code {
			if instead := strings.TrimLeft(c.instead(f.Elements(grid.Code)), ";: "); instead != "" {
				name += " (" + instead + ")"
			}
		}
		names = append(names, name)
	}
	if n := len(it.Foci) - few; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	at := grid.ErrRefused{Point: it.Focus().String(), Reason: "the target has nothing of what it stands for: " + strings.Join(names, ", ")}
	if it.Base == grid.Code {
		return &NoFunction{Name: it.Name, At: &at}
	}
	return at // objects may be seen later
}

// compileFlag compiles the body of a flag; an item's several bodies share the flag.
func (c *compiler) compileFlag(x *matching, f *constraint) error {
	uses := x.usesOf(f)
	if uses == nil {
		c.at, c.cons, c.index = nil, f, map[string]int{f.ident: c.flag}
		return c.compileBody(f.body)
	}
	for i := range uses {
		u := &uses[i]
		c.at, c.cons, c.index = u, u.cons, map[string]int{u.cons.ident: c.flag}
		if err := c.compileBody(u.cons.body); err != nil {
			return err
		}
	}
	return nil
}

// compileCounting compiles what counts: the base, or the replacement; an item's several replacements count in one variable.
func (c *compiler) compileCounting(x *matching) error {
	uses := x.usesOf(x.replace)
	if x.replace == nil || uses == nil {
		c.at, c.cons = nil, x.replace
		return c.compileBody(x.body(c.m))
	}
	for i := range uses {
		c.at, c.cons = &uses[i], uses[i].cons
		if err := c.compileBody(c.cons.body); err != nil {
			return err
		}
	}
	return nil
}

// elements are what $constraint chooses from in the constraint that is being compiled.
func (c *compiler) elements() []string {
	if c.at != nil {
		return c.at.path
	}
	return c.focus.Elements(c.cons.hierarchy)
}

// chosenItem is $constraint[i] where it stands for all functions, or all loops, of an item. A module of them has the item's name.
func (c *compiler) chosenItem(i int) value {
	_, name, _ := c.focus.Item()
	procs := slices.Clone(c.parts.funcs)
	if c.at.ofLoops() {
		procs = nil
		for _, p := range c.parts.loops {
			procs = append(procs, p.fn)
		}
	}
	switch constraintTypes(c.cons)[i] {
	case tModule:
		return value{typ: tModule, s: name, procs: unique(procs)}
	case tLoop:
		return value{typ: tLoop, s: name, points: slices.Clone(c.parts.loops)}
	}
	return value{typ: tProcs, procs: unique(procs)}
}
