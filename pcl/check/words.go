package check

import (
	"culprit/pcl"
	"culprit/pcl/types"
)

// environment are the names that mean the same everywhere.
var environment = map[string]types.Type{"$start": types.Procs, "$exit": types.Procs, "$procedures": types.Procs, "$modules": types.Modules,
	"$machine": types.String, "$globalId": types.Int, "$return": types.Int, "$callee": types.Int, "$arg": types.Args, "$constraint": types.Bad}

// fields by what has them.
var fields = map[types.Type]map[string]types.Type{
	types.Procs:  {"name": types.String, "entry": types.Entry, "return": types.Return, "calls": types.Call},
	types.Module: {"name": types.String, "funcs": types.Procs},
	types.Loop:   {"name": types.String, "enter": types.LoopEnter, "exit": types.LoopExit, "start_iter": types.OtherPoint, "end_iter": types.OtherPoint},
}

// notYet are the other primitives of the language, with what they need.
var notYet = map[string]string{
	"destroyProcessTimer": "timers that a probe can remove",
	"startHwTimer":        pcl.ProbesReadCounters,
	"stopHwTimer":         pcl.ProbesReadCounters,
	"sampleHwCounter":     pcl.ProbesReadCounters,
	"readSymbol":          "probes that read the target's variables",
	"readAddress":         "probes that read the target's memory",
}

const traceNeeds = "event records in ring buffers of the threads"

// flavors are those that targets have.
var flavors = []string{"any", "c", "cxx", "rust", "unix", "mpi", "go"}
