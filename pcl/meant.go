package pcl

import (
	"errors"
	"fmt"
	"strings"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl/syntax"
)

// A NoFunction says that a name means no function of the target, or that it cannot be told which. Nothing could be counted there.
type NoFunction struct {
	Name    string
	Nearest []string         // functions that have similar names, most similar first
	May     []string         // functions of different scopes that the name may mean: it is ambiguous
	Why     string           // why there is no code of it although the program has it: "it is inlined everywhere"; "" if that is not so
	At      *grid.ErrRefused // of a focus on something that the target does not have: its whole message; else nil
}

// Unwrap gives At.
func (n *NoFunction) Unwrap() error {
	if n.At == nil {
		return nil
	}
	return *n.At
}

// Error says what there is instead.
func (n *NoFunction) Error() string {
	switch {
	case n.At != nil:
		return n.At.Error()
	case len(n.May) > 0:
		return fmt.Sprintf("%q may be any of %s; name one of them", n.Name, strings.Join(n.May, ", "))
	case n.Why != "":
		return fmt.Sprintf("no function matches %q: %s", n.Name, n.Why)
	}
	return fmt.Sprintf("no function matches %q%s", n.Name, n.nearest())
}

func (n *NoFunction) nearest() string {
	if len(n.Nearest) == 0 {
		return ""
	}
	return "; nearest: " + strings.Join(n.Nearest, ", ")
}

// NoPoint says that what a metric names is there, and has none of the points that it asks for.
type NoPoint struct{ Pair grid.PairKey }

// Error names the pair.
func (n *NoPoint) Error() string {
	return fmt.Sprintf("%v has no point in this program: the functions that it names are there, and have no such point (no calls, no return, no such loop), or its conditions leave them out", n.Pair)
}

// NoResult says that a function leaves by jumps to others: what it returns is made by them, later.
type NoResult struct {
	Function string
	Jumps    int      // exits that are such jumps
	Exits    int      // of so many
	To       []string // functions that are jumped to, as far as they are known
}

// Error says what can be measured instead.
func (n *NoResult) Error() string {
	to, instead := "", "the functions that it jumps to"
	if len(n.To) > 0 {
		instead = strings.Join(n.To, " and ")
		to = " (" + strings.Join(n.To, ", ") + ")"
	}
	return fmt.Sprintf("found $return of %[1]s, expected a function that returns by itself: %[1]s ends with a jump to another function%s at %d of its %d exits, whose result comes later; "+
		"measure $return of %s, or build with -fno-optimize-sibling-calls", n.Function, to, n.Jumps, n.Exits, instead)
}

// NothingThere reports whether an error says that a program has nothing of what a pair is about, or that it cannot be told what is meant: it
// is *NoFunction, *NoPoint, *NoResult, or a mistake that only shows in that program, such as a type that nobody says.
func NothingThere(err error) bool {
	var none *NoFunction
	var pointless *NoPoint
	var mistake *syntax.Error
	var later *NoResult
	return errors.As(err, &none) || errors.As(err, &pointless) || errors.As(err, &mistake) || errors.As(err, &later)
}

// named are the functions that $function("name") means. That there is none is an error: 0 would be taken for an answer.
func (c *compiler) named(name string) ([]FuncID, error) {
	if path, ok := strings.CutPrefix(name, "/Code/"); ok {
		module, function, _ := strings.Cut(path, "/")
		if ids := unique(c.env.Function(module, function)); len(ids) > 0 {
			return ids, nil
		}
		return nil, c.lib.Missing([]string{module, function}, c.env)
	}
	ids, err := c.env.Meant(name)
	for _, id := range ids {
		delete(c.fromLibrary, id)
	}
	return unique(ids), err
}

// instead says what a target has that is similar to a path of /Code, or why it does not have that.
func (c *compiler) instead(path []string) string {
	if len(path) == 1 {
		if near := syntax.Similar(path[0], c.env.Modules(), maxNearest); len(near) > 0 {
			return "; nearest: " + safetext.CleanMax(strings.Join(near, ", "), 400)
		}
		return ""
	}
	ids, err := c.env.Meant(path[1])
	var none *NoFunction
	switch {
	case errors.As(err, &none) && none.Why != "":
		return ": " + none.Why
	case errors.As(err, &none) && len(none.May) > 0:
		return "; nearest: " + strings.Join(none.May, ", ")
	case errors.As(err, &none):
		return none.nearest()
	case len(ids) > 0:
		var places []string
		for _, id := range ids[:min(len(ids), maxNearest)] {
			places = append(places, "/Code/"+c.env.FuncModule(id)+"/"+c.env.FuncName(id))
		}
		return "; there is " + strings.Join(places, ", ")
	}
	return ""
}

// maxNearest bounds the functions that a message names.
const maxNearest = 5

// ofItem are the functions that an item of a list means. A list of a library has exact names, which the target need not have: one text
// serves many libraries. Other lists have names as $function has.
func (c *compiler) ofItem(l *list, name string) ([]FuncID, error) {
	if l.library {
		return c.env.Named(name), nil
	}
	ids, err := c.env.Meant(name)
	var none *NoFunction
	if errors.As(err, &none) && len(none.May) == 0 {
		if c.absent == nil {
			c.absent = map[string]bool{}
		}
		if !c.absent[none.Name] {
			c.absent[none.Name] = true
			c.plan.Absent = append(c.plan.Absent, none)
		}
		return nil, nil
	}
	return ids, err
}

// pointless refuses a plan whose base has no point: it would count nothing for ever. Lists of libraries may be empty, and an item of a
// hierarchy may get its parts later.
func (c *compiler) pointless(x *matching, before int) error {
	counting := x.body(c.m)
	_, _, item := c.focus.Item()
	if len(c.plan.Requests) > before || counting.kind == Kernel || counting.block == nil || item || x.replace != nil {
		return nil
	}
	for _, name := range counting.lists {
		if l := c.lib.lists[name]; l.library || !flavored(l.flavors, c.env) {
			return nil
		}
	}
	if len(c.plan.Absent) > 0 {
		return c.plan.Absent[0]
	}
	if anyStmt(counting.block, func(s *syntax.Stmt) bool { return s.Kind == syntax.Instr }) {
		return &NoPoint{c.plan.Pair}
	}
	return nil
}
