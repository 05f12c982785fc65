package compile

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/types"
)

// parts are what of an item of code the target has: functions, and loops of other functions.
type parts struct {
	funcs []pcl.FuncID
	loops []point
}

// resolve finds what of the item the target has, and leaves the rest out. It is an error if there is nothing.
func (c *compiler) resolve(x *pcl.Match) error {
	if x.Union == nil {
		return nil
	}
	u := *x.Union
	if u.Item.Base == grid.Code {
		c.parts = parts{funcs: Functions(c.lib, u.Item, c.env)}
		c.parts.loops = c.loopsOf(u.Item)
	}
	u.Uses = slices.DeleteFunc(slices.Clone(u.Uses), func(u pcl.Use) bool { return !c.has(u) })
	if len(u.Uses) == 0 {
		return c.missing(u.Item)
	}
	x.Union = &u
	return nil
}

// has reports whether the target has what a use is for. All objects of a kind are always there, if only as none.
func (c *compiler) has(u pcl.Use) bool {
	switch {
	case u.Path == nil && u.OfLoops():
		return len(c.parts.loops) > 0
	case u.Path == nil:
		return len(c.parts.funcs) > 0
	case len(u.Path) == 1:
		return true
	}
	_, err := c.env.Object(u.Constraint.Hierarchy, slices.Clone(u.Path))
	return err == nil
}

// loopsOf finds the loops of an item. One in a function of the item, or in another loop of it, adds nothing.
func (c *compiler) loopsOf(item *pcl.GroupingItem) []point {
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
func (c *compiler) missing(it *pcl.GroupingItem) error {
	const few = 3
	var names []string
	for _, f := range it.Foci[:min(len(it.Foci), few)] {
		name := f.String()
		if it.Base == grid.Code {
			if instead := strings.TrimLeft(instead(f.Elements(grid.Code), c.env), ";: "); instead != "" {
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
		return &pcl.NoFunction{Name: it.Name, At: &at}
	}
	return at // objects may be seen later
}

// compileFlag compiles the body of a flag; an item's several bodies share the flag.
func (c *compiler) compileFlag(x *pcl.Match, f *pcl.Constraint) error {
	uses := x.UsesOf(f)
	if uses == nil {
		c.at, c.cons, c.index = nil, f, map[string]int{f.Ident: c.flag}
		return c.compileBody(f.Body)
	}
	for i := range uses {
		u := &uses[i]
		c.at, c.cons, c.index = u, u.Constraint, map[string]int{u.Constraint.Ident: c.flag}
		if err := c.compileBody(u.Constraint.Body); err != nil {
			return err
		}
	}
	return nil
}

// compileCounting compiles what counts: the base, or the replacement; an item's several replacements count in one variable.
func (c *compiler) compileCounting(x *pcl.Match) error {
	uses := x.UsesOf(x.Replace)
	if x.Replace == nil || uses == nil {
		c.at, c.cons = nil, x.Replace
		return c.compileBody(x.Body(c.m))
	}
	for i := range uses {
		c.at, c.cons = &uses[i], uses[i].Constraint
		if err := c.compileBody(c.cons.Body); err != nil {
			return err
		}
	}
	return nil
}

// elements are what $constraint chooses from in the constraint that is being compiled.
func (c *compiler) elements() []string {
	if c.at != nil {
		return c.at.Path
	}
	return c.focus.Elements(c.cons.Hierarchy)
}

// chosenItem is $constraint[i] where it stands for all functions, or all loops, of an item. A module of them has the item's name.
func (c *compiler) chosenItem(i int) value {
	_, name, _ := c.focus.Item()
	procs := slices.Clone(c.parts.funcs)
	if c.at.OfLoops() {
		procs = nil
		for _, p := range c.parts.loops {
			procs = append(procs, p.fn)
		}
	}
	switch types.ConstraintTypes(c.cons)[i] {
	case types.Module:
		return value{typ: types.Module, s: name, procs: unique(procs)}
	case types.Loop:
		return value{typ: types.Loop, s: name, points: slices.Clone(c.parts.loops)}
	}
	return value{typ: types.Procs, procs: unique(procs)}
}
