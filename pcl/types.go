package pcl

import "culprit/pcl/syntax"

// A typ is what the checker knows of an expression. Functions, call sites and points are always sets.
type typ uint8

const (
	tBad typ = iota // an error was reported
	tVoid
	tInt
	tFloat
	tString
	tInts
	tFloats
	tStrings
	tProcs
	tModule
	tModules
	tLoop
	tEntry
	tReturn
	tCall
	tLoopEnter
	tLoopExit
	tOtherPoint // of a loop or of a source line
	tTimer
	tArgs // $arg without an index
	tArg  // $arg[i]: an integer that may have fields
	tAddress
)

var typeNames = [...]string{"an error", "nothing", "a number", "a fraction", "a string", "a list of numbers", "a list of fractions",
	"a list of strings", "a function", "a module", "a list of modules", "a loop", "the entry of a function", "the return of a function",
	"a call site", "the enter of a loop", "the exit of a loop", "a point", "a timer", "the arguments", "an argument", "an address"}

func (t typ) String() string { return typeNames[t] }

func (t typ) isPoint() bool { return t >= tEntry && t <= tOtherPoint }

// element is what a foreach variable gets from a list; tBad if it is none.
func (t typ) element() typ {
	switch t {
	case tInts:
		return tInt
	case tFloats:
		return tFloat
	case tStrings:
		return tString
	case tModules:
		return tModule
	case tProcs, tCall, tEntry, tReturn, tLoopEnter, tLoopExit:
		return t
	}
	return tBad
}

var listTypes = map[string]typ{"procedure": tProcs, "module": tModules, "string": tStrings, "int": tInts, "float": tFloats}

// environment are the names that mean the same everywhere.
var environment = map[string]typ{"$start": tProcs, "$exit": tProcs, "$procedures": tProcs, "$modules": tModules,
	"$machine": tString, "$globalId": tInt, "$return": tInt, "$callee": tInt, "$arg": tArgs, "$constraint": tBad}

// fields by what has them.
var fields = map[typ]map[string]typ{
	tProcs:  {"name": tString, "entry": tEntry, "return": tReturn, "calls": tCall},
	tModule: {"name": tString, "funcs": tProcs},
	tLoop:   {"name": tString, "enter": tLoopEnter, "exit": tLoopExit, "start_iter": tOtherPoint, "end_iter": tOtherPoint},
}

// timers are the primitives that take the metric's own timer.
var timers = map[string]struct {
	kind  Kind
	start bool
}{
	"startWallTimer": {WallTimer, true}, "stopWallTimer": {WallTimer, false},
	"startProcessTimer": {ProcessTimer, true}, "stopProcessTimer": {ProcessTimer, false},
}

const probesReadCounters = "hardware counters that a probe can read"

// notYet are the other primitives of the language, with what they need.
var notYet = map[string]string{
	"destroyProcessTimer": "timers that a probe can remove",
	"startHwTimer":        probesReadCounters,
	"stopHwTimer":         probesReadCounters,
	"sampleHwCounter":     probesReadCounters,
	"readSymbol":          "probes that read the target's variables",
	"readAddress":         "probes that read the target's memory",
}

var kindNames = map[string]Kind{"counter": Counter, "wallTimer": WallTimer, "processTimer": ProcessTimer, "kernel": Kernel, "void": Void, "gauge": Gauge}

// String is the word of PCL.
func (k Kind) String() string {
	if k == ThreadGauge {
		return "gauge of each thread"
	}
	for name, kind := range kindNames {
		if kind == k {
			return name
		}
	}
	return "invalid"
}

// constraintTypes are the types of $constraint[0], [1], .. in a constraint with this path.
func constraintTypes(c *constraint) []typ {
	var up []typ // from the hierarchy downwards
	for depth := 0; depth <= len(c.path); depth++ {
		up = append(up, levelType(c, depth))
	}
	out := make([]typ, 0, len(up))
	for i := len(up) - 1; i >= 0; i-- {
		out = append(out, up[i])
	}
	return out
}

func levelType(c *constraint, depth int) typ {
	switch c.hierarchy.String() {
	case "Code":
		return [...]typ{tModule, tProcs, tLoop}[depth]
	case "SyncObject", "IO", "Memory":
		if depth > 0 {
			return tInt
		}
	}
	return tString
}

// wholeNumber returns the value of a literal number or of a minus before one.
func wholeNumber(e *syntax.Expr) (int64, bool) {
	if e != nil && e.Kind == syntax.Negate {
		n, ok := wholeNumber(e.X)
		return -n, ok
	}
	if e == nil || e.Kind != syntax.Number || e.IsFloat {
		return 0, false
	}
	return e.Int, true
}
