package types

import (
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// A Type is what the checker knows of an expression. Functions, call sites and points are always sets.
type Type uint8

// The types.
const (
	Bad Type = iota // an error was reported
	Void
	Int
	Float
	String
	Ints
	Floats
	Strings
	Procs
	Module
	Modules
	Loop
	Entry
	Return
	Call
	LoopEnter
	LoopExit
	OtherPoint // of a loop or of a source line
	Timer
	Args // $arg without an index
	Arg  // $arg[i]: an integer that may have fields
	Address
)

var typeNames = [...]string{"an error", "nothing", "a number", "a fraction", "a string", "a list of numbers", "a list of fractions",
	"a list of strings", "a function", "a module", "a list of modules", "a loop", "the entry of a function", "the return of a function",
	"a call site", "the enter of a loop", "the exit of a loop", "a point", "a timer", "the arguments", "an argument", "an address"}

// String is the type as messages name it.
func (t Type) String() string { return typeNames[t] }

// IsPoint reports whether code can be inserted there.
func (t Type) IsPoint() bool { return t >= Entry && t <= OtherPoint }

// Element is what a foreach variable gets from a list; Bad if it is none.
func (t Type) Element() Type {
	switch t {
	case Ints:
		return Int
	case Floats:
		return Float
	case Strings:
		return String
	case Modules:
		return Module
	case Procs, Call, Entry, Return, LoopEnter, LoopExit:
		return t
	}
	return Bad
}

// ListTypes are the types of resource lists, by the word for what they hold.
var ListTypes = map[string]Type{"procedure": Procs, "module": Modules, "string": Strings, "int": Ints, "float": Floats}

// Timers are the primitives that take the metric's own timer.
var Timers = map[string]struct {
	Kind  pcl.Kind
	Start bool
}{
	"startWallTimer": {pcl.WallTimer, true}, "stopWallTimer": {pcl.WallTimer, false},
	"startProcessTimer": {pcl.ProcessTimer, true}, "stopProcessTimer": {pcl.ProcessTimer, false},
}

// ConstraintTypes are the types of $constraint[0], [1], .. in a constraint with this path.
func ConstraintTypes(c *pcl.Constraint) []Type {
	var up []Type // from the hierarchy downwards
	for depth := 0; depth <= len(c.Path); depth++ {
		up = append(up, levelType(c, depth))
	}
	out := make([]Type, 0, len(up))
	for i := len(up) - 1; i >= 0; i-- {
		out = append(out, up[i])
	}
	return out
}

func levelType(c *pcl.Constraint, depth int) Type {
	switch c.Hierarchy.String() {
	case "Code":
		return [...]Type{Module, Procs, Loop}[depth]
	case "SyncObject", "IO", "Memory":
		if depth > 0 {
			return Int
		}
	}
	return String
}

// WholeNumber returns the value of a literal number or of a minus before one.
func WholeNumber(e *syntax.Expr) (int64, bool) {
	if e != nil && e.Kind == syntax.Negate {
		n, ok := WholeNumber(e.X)
		return -n, ok
	}
	if e == nil || e.Kind != syntax.Number || e.IsFloat {
		return 0, false
	}
	return e.Int, true
}

// ArgPath reads $arg[1]->a.b; ok is false for anything that does not begin with an argument.
func ArgPath(e *syntax.Expr) (p pcl.ArgPath, ok bool) {
	switch {
	case e.Kind == syntax.Index && e.X.Kind == syntax.Ident && e.X.Text == "$arg":
		n, _ := WholeNumber(e.Y)
		return pcl.ArgPath{Index: int(n)}, true
	case e.Kind == syntax.Field && e.X.Kind == syntax.Ident && e.X.Text == "$arg":
		return pcl.ArgPath{Name: e.Text}, true
	case e.Kind == syntax.Field || e.Kind == syntax.Deref:
		if p, ok = ArgPath(e.X); ok {
			p.Fields = append(p.Fields, pcl.ArgField{Name: e.Text, Deref: e.Kind == syntax.Deref})
		}
	}
	return p, ok
}
