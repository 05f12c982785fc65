package cases

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// A Target is a target in memory: it is what tests compile for.
type Target struct {
	FlavorNames []string
	ModuleNames []string
	Funcs       []Function
	Known       map[string]uint64 // by the elements joined with "/"
}

// A Function is a function of a Target.
type Function struct {
	ID     pcl.FuncID
	Module string
	names  []string
	Calls  []pcl.FuncID // 0: unknown callee
}

// Functions that are there to be called by probes: weigh(a, b, ...) is 7+a+2b+..., bump(&variable, n) adds n and gives the new value.
const (
	weigh pcl.FuncID = 60
	Bump  pcl.FuncID = 61
)

// nearest is how many similar names a target gives.
const nearest = 5

// NewFunction makes a function with the functions that it calls.
func NewFunction(id pcl.FuncID, module string, names []string, calls []pcl.FuncID) Function {
	return Function{ID: id, Module: module, names: names, Calls: calls}
}

// NewTarget is a target in which main calls work and helper; work calls itself, leaf, the lock and something unknown; leaf calls write;
// libc has several names for some functions.
func NewTarget() *Target {
	return &Target{
		FlavorNames: []string{"c", "unix"},
		ModuleNames: []string{"main.c", "work.c", "libc.so.6"},
		Funcs: []Function{
			{1, "main.c", []string{"main"}, []pcl.FuncID{10, 2, 30}},
			{2, "main.c", []string{"helper"}, []pcl.FuncID{20, 10}},
			{10, "work.c", []string{"work"}, []pcl.FuncID{10, 11, 20, 0}},
			{11, "work.c", []string{"leaf"}, []pcl.FuncID{30, 21}},
			{20, "libc.so.6", []string{"pthread_mutex_lock", "__pthread_mutex_lock"}, nil},
			{21, "libc.so.6", []string{"sem_wait"}, nil},
			{30, "libc.so.6", []string{"write", "__write"}, nil},
			{31, "libc.so.6", []string{"pwrite64", "pwrite", "__pwrite64"}, nil},
			{40, "libc.so.6", []string{"exit"}, nil},
		},
		Known: map[string]uint64{"SyncObject/Mutex/cache_lock": 5, "SyncObject/Semaphore/slots": 6, "IO/File//tmp/x": 3,
			"SyncObject/Message/world": 91, "SyncObject/Message/world/7": 7},
	}
}

func (e *Target) each(match func(f Function, name string) bool) []pcl.FuncID {
	var out []pcl.FuncID
	for _, f := range e.Funcs {
		for _, n := range f.names {
			if match(f, n) {
				out = append(out, f.ID)
			}
		}
	}
	return out
}

// Named returns the functions of this name.
func (e *Target) Named(name string) []pcl.FuncID {
	return e.each(func(_ Function, n string) bool { return n == name })
}

// Meant: as Named; twice is inlined everywhere, and push may be one of two.
func (e *Target) Meant(name string) ([]pcl.FuncID, error) {
	if ids := e.Named(name); len(ids) > 0 {
		return ids, nil
	}
	switch name {
	case "twice":
		return nil, &pcl.NoFunction{Name: name, Why: "it is inlined everywhere (3 places)"}
	case "push":
		return nil, &pcl.NoFunction{Name: name, May: []string{"a::push(int)", "b::push(int)"}}
	}
	var names []string
	for _, f := range e.Funcs {
		names = append(names, f.names...)
	}
	return nil, &pcl.NoFunction{Name: name, Nearest: syntax.Similar(name, names, nearest)}
}

// Matching returns the functions whose name matches.
func (e *Target) Matching(pattern string, regex bool) []pcl.FuncID {
	match := pcl.Matcher(pattern, regex)
	return e.each(func(_ Function, n string) bool { return match(n) })
}

func (e *Target) Function(module, function string) []pcl.FuncID {
	return e.each(func(f Function, n string) bool { return f.Module == module && n == function })
}

// ModuleFunctions returns the functions of a module.
func (e *Target) ModuleFunctions(module string) []pcl.FuncID {
	return e.each(func(f Function, n string) bool { return f.Module == module && n == f.names[0] })
}

// Modules are ModuleNames.
func (e *Target) Modules() []string { return e.ModuleNames }

// Callable knows the two functions that are there to be called, and all others that have one name.
func (e *Target) Callable(name string) (pcl.FuncID, error) {
	if id := map[string]pcl.FuncID{"weigh": weigh, "bump": Bump}[name]; id != 0 {
		return id, nil
	}
	if ids := e.Named(name); len(ids) == 1 {
		return ids[0], nil
	}
	return 0, fmt.Errorf("%w: %s", errNoFunction, name)
}

var errNoFunction = errors.New("no function that could be called")

// Find is the function of a number; one without a name if there is none.
func (e *Target) Find(id pcl.FuncID) Function {
	i := slices.IndexFunc(e.Funcs, func(f Function) bool { return f.ID == id })
	if i < 0 {
		return Function{names: []string{""}}
	}
	return e.Funcs[i]
}

// FuncName is the first name of a function.
func (e *Target) FuncName(id pcl.FuncID) string { return e.Find(id).names[0] }

// FuncModule is the module of a function.
func (e *Target) FuncModule(id pcl.FuncID) string { return e.Find(id).Module }

// CallSites are the Calls of a function.
func (e *Target) CallSites(id pcl.FuncID) []pcl.CallSite {
	var out []pcl.CallSite
	for i, c := range e.Find(id).Calls {
		out = append(out, pcl.CallSite{Caller: id, Index: i, Callee: c})
	}
	return out
}

// Loop: every function has the loops loop_1 and loop_1.1.
func (e *Target) Loop(id pcl.FuncID, name string) (int, bool) {
	n, ok := map[string]int{"loop_1": 0, "loop_1.1": 1}[name]
	return n, ok && e.Find(id).ID == id
}

// Line: line 120 of work.c has code in two functions.
func (e *Target) Line(file string, line int) []pcl.CodePoint {
	if file != "work.c" || line != 120 {
		return nil
	}
	return []pcl.CodePoint{{Func: 10, Offset: 18}, {Func: 11, Offset: -4}}
}

// OpenedAs: files are opened by their paths.
func (e *Target) OpenedAs(elems []string) []string {
	if elems[0] != "File" {
		return nil
	}
	return elems[1:]
}

// Start is main.
func (e *Target) Start() []pcl.FuncID { return e.Named("main") }

// Exit is exit.
func (e *Target) Exit() []pcl.FuncID { return e.Named("exit") }

// Object is the number of what is Known.
func (e *Target) Object(h grid.Hierarchy, elems []string) (uint64, error) {
	key := h.String() + "/" + strings.Join(elems, "/")
	if n, ok := e.Known[key]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("%w: %s", errNoObject, key)
}

var errNoObject = errors.New("no such object")

// Arg: work(int len, struct conn *c, ..) and leaf(const char *text, char name[8] in a structure on the stack); nothing is known of others.
func (e *Target) Arg(id pcl.FuncID, path pcl.ArgPath) (pcl.ArgPlace, error) {
	places := map[pcl.FuncID]map[string]pcl.ArgPlace{
		10: {
			"$arg.len":            {Narrow: pcl.ArgLoad{Size: 4, Signed: true}},
			"$arg.c->fd":          {Register: 1, Loads: []pcl.ArgLoad{{Offset: 8, Size: 4, Signed: true}}},
			"$arg.c->peer->name":  {Register: 1, Loads: []pcl.ArgLoad{{Offset: 24, Size: 8, Signed: false}, {Offset: 0, Size: 8, Signed: false}}},
			"$arg.c->peer->tag":   {Register: 1, Loads: []pcl.ArgLoad{{Offset: 24, Size: 8, Signed: false}}, Offset: 40, Room: 4},
			"$arg.c->at.port":     {Register: 1, Loads: []pcl.ArgLoad{{Offset: 18, Size: 2, Signed: false}}},
			"$arg[1]->fd":         {Register: 1, Loads: []pcl.ArgLoad{{Offset: 8, Size: 4, Signed: true}}},
			"$arg.seventh":        {Register: -1, Loads: []pcl.ArgLoad{{Offset: 8, Size: 8, Signed: true}}},
			"$arg[6]":             {Register: -1, Loads: []pcl.ArgLoad{{Offset: 8, Size: 8, Signed: true}}},
			"$arg.seventh->state": {Register: -1, Loads: []pcl.ArgLoad{{Offset: 8, Size: 8, Signed: false}, {Offset: 4, Size: 1, Signed: false}}},
		},
		70: {"$arg.bytes": {Narrow: pcl.ArgLoad{Size: 8, Signed: true}}}, // of the manual
		11: {"$arg.text": {}, "$arg[0]": {}, "$arg.s.name": {Register: -1, Offset: 16, Room: 8}},
	}[id]
	if places == nil {
		return pcl.ArgPlace{}, &pcl.NoTypes{Function: e.FuncName(id), Reason: "there is no DWARF; build it with -g"}
	}
	if p, ok := places[path.String()]; ok {
		return p, nil
	}
	if path.Name == "" && path.Index <= 5 && len(path.Fields) == 0 && !path.Text {
		return pcl.ArgPlace{Register: path.Index}, nil
	}
	if len(path.Fields) > 0 {
		return pcl.ArgPlace{}, &pcl.NoSuchName{What: "field", Name: path.Fields[len(path.Fields)-1].Name, Of: "struct conn", Known: []string{"fd", "peer", "at"}}
	}
	return pcl.ArgPlace{}, &pcl.NoSuchName{What: "parameter", Name: strings.TrimPrefix(path.String()[4:], "."), Of: e.FuncName(id), Known: []string{"len", "c", "seventh"}}
}

// OwnTypes: every file has types.
func (e *Target) OwnTypes(pcl.FuncID) bool { return true }

// Result: nothing is known of write, sem_wait returns an int, leaf a bool, exit nothing; all others return a long.
func (e *Target) Result(id pcl.FuncID) (pcl.ArgLoad, error) {
	switch id {
	case 30:
		return pcl.ArgLoad{}, &pcl.NoTypes{Function: e.FuncName(id), Reason: "there is no DWARF; build it with -g"}
	case 21:
		return pcl.ArgLoad{Size: 4, Signed: true}, nil
	case 11:
		return pcl.ArgLoad{Size: 1}, nil
	case 40:
		return pcl.ArgLoad{}, &pcl.NoValue{Reason: "exit returns nothing"}
	}
	return pcl.ArgLoad{Size: 8, Signed: true}, nil
}

// Machine is node1.
func (e *Target) Machine() string { return "node1" }

// Flavors are FlavorNames.
func (e *Target) Flavors() []string { return e.FlavorNames }
