package pcl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A fakeEnv is a target in memory: it is what tests compile for.
type fakeEnv struct {
	flavors []string
	modules []string
	funcs   []fakeFunc
	objects map[string]uint64 // by the elements joined with "/"
}

type fakeFunc struct {
	id     FuncID
	module string
	names  []string
	calls  []FuncID // 0: unknown callee
}

// Functions that are there to be called by probes: weigh(a, b, ...) is 7+a+2b+..., bump(&variable, n) adds n and gives the new value.
const (
	weigh FuncID = 60
	bump  FuncID = 61
)

// newTarget: main calls work and helper; work calls itself, leaf, the lock and something unknown; leaf calls write;
// libc has several names for some functions.
func newTarget() *fakeEnv {
	return &fakeEnv{
		flavors: []string{"c", "unix"},
		modules: []string{"main.c", "work.c", "libc.so.6"},
		funcs: []fakeFunc{
			{1, "main.c", []string{"main"}, []FuncID{10, 2, 30}},
			{2, "main.c", []string{"helper"}, []FuncID{20, 10}},
			{10, "work.c", []string{"work"}, []FuncID{10, 11, 20, 0}},
			{11, "work.c", []string{"leaf"}, []FuncID{30, 21}},
			{20, "libc.so.6", []string{"pthread_mutex_lock", "__pthread_mutex_lock"}, nil},
			{21, "libc.so.6", []string{"sem_wait"}, nil},
			{30, "libc.so.6", []string{"write", "__write"}, nil},
			{31, "libc.so.6", []string{"pwrite64", "pwrite", "__pwrite64"}, nil},
			{40, "libc.so.6", []string{"exit"}, nil},
		},
		objects: map[string]uint64{"SyncObject/Mutex/cache_lock": 5, "SyncObject/Semaphore/slots": 6, "IO/File//tmp/x": 3,
			"SyncObject/Message/world": 91, "SyncObject/Message/world/7": 7},
	}
}

func (e *fakeEnv) each(match func(f fakeFunc, name string) bool) []FuncID {
	var out []FuncID
	for _, f := range e.funcs {
		for _, n := range f.names {
			if match(f, n) {
				out = append(out, f.id)
			}
		}
	}
	return out
}

func (e *fakeEnv) Named(name string) []FuncID {
	return e.each(func(_ fakeFunc, n string) bool { return n == name })
}

// Meant: as Named; twice is inlined everywhere, and push may be one of two.
func (e *fakeEnv) Meant(name string) ([]FuncID, error) {
	if ids := unique(e.Named(name)); len(ids) > 0 {
		return ids, nil
	}
	switch name {
	case "twice":
		return nil, &NoFunction{Name: name, Why: "it is inlined everywhere (3 places)"}
	case "push":
		return nil, &NoFunction{Name: name, May: []string{"a::push(int)", "b::push(int)"}}
	}
	var names []string
	for _, f := range e.funcs {
		names = append(names, f.names...)
	}
	return nil, &NoFunction{Name: name, Nearest: syntax.Similar(name, names, maxNearest)}
}

func (e *fakeEnv) Matching(pattern string, regex bool) []FuncID {
	match := Matcher(pattern, regex)
	return e.each(func(_ fakeFunc, n string) bool { return match(n) })
}

func (e *fakeEnv) Function(module, function string) []FuncID {
	return e.each(func(f fakeFunc, n string) bool { return f.module == module && n == function })
}

func (e *fakeEnv) ModuleFunctions(module string) []FuncID {
	return e.each(func(f fakeFunc, n string) bool { return f.module == module && n == f.names[0] })
}

func (e *fakeEnv) Modules() []string { return e.modules }

func (e *fakeEnv) Callable(name string) (FuncID, error) {
	if id := map[string]FuncID{"weigh": weigh, "bump": bump}[name]; id != 0 {
		return id, nil
	}
	if ids := unique(e.Named(name)); len(ids) == 1 {
		return ids[0], nil
	}
	return 0, fmt.Errorf("%w: %s", errNoFunction, name)
}

var errNoFunction = errors.New("no function that could be called")

func (e *fakeEnv) find(id FuncID) fakeFunc {
	i := slices.IndexFunc(e.funcs, func(f fakeFunc) bool { return f.id == id })
	if i < 0 {
		return fakeFunc{names: []string{""}}
	}
	return e.funcs[i]
}

func (e *fakeEnv) FuncName(id FuncID) string   { return e.find(id).names[0] }
func (e *fakeEnv) FuncModule(id FuncID) string { return e.find(id).module }

func (e *fakeEnv) CallSites(id FuncID) []CallSite {
	var out []CallSite
	for i, c := range e.find(id).calls {
		out = append(out, CallSite{id, i, c})
	}
	return out
}

// Loop: every function has the loops loop_1 and loop_1.1.
func (e *fakeEnv) Loop(id FuncID, name string) (int, bool) {
	n, ok := map[string]int{"loop_1": 0, "loop_1.1": 1}[name]
	return n, ok && e.find(id).id == id
}

// Line: line 120 of work.c has code in two functions.
func (e *fakeEnv) Line(file string, line int) []CodePoint {
	if file != "work.c" || line != 120 {
		return nil
	}
	return []CodePoint{{10, 18}, {11, -4}}
}

// OpenedAs: files are opened by their paths.
func (e *fakeEnv) OpenedAs(elems []string) []string {
	if elems[0] != "File" {
		return nil
	}
	return elems[1:]
}

func (e *fakeEnv) Start() []FuncID { return e.Named("main") }
func (e *fakeEnv) Exit() []FuncID  { return e.Named("exit") }

func (e *fakeEnv) Object(h grid.Hierarchy, elems []string) (uint64, error) {
	key := h.String() + "/" + strings.Join(elems, "/")
	if n, ok := e.objects[key]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("%w: %s", errNoObject, key)
}

var errNoObject = errors.New("no such object")

// Arg: work(int len, struct conn *c, ..) and leaf(const char *text, char name[8] in a structure on the stack); nothing is known of others.
func (e *fakeEnv) Arg(id FuncID, path ArgPath) (ArgPlace, error) {
	places := map[FuncID]map[string]ArgPlace{
		10: {
			"$arg.len":            {Narrow: ArgLoad{Size: 4, Signed: true}},
			"$arg.c->fd":          {Register: 1, Loads: []ArgLoad{{8, 4, true}}},
			"$arg.c->peer->name":  {Register: 1, Loads: []ArgLoad{{24, 8, false}, {0, 8, false}}},
			"$arg.c->peer->tag":   {Register: 1, Loads: []ArgLoad{{24, 8, false}}, Offset: 40, Room: 4},
			"$arg.c->at.port":     {Register: 1, Loads: []ArgLoad{{18, 2, false}}},
			"$arg[1]->fd":         {Register: 1, Loads: []ArgLoad{{8, 4, true}}},
			"$arg.seventh":        {Register: -1, Loads: []ArgLoad{{8, 8, true}}},
			"$arg[6]":             {Register: -1, Loads: []ArgLoad{{8, 8, true}}},
			"$arg.seventh->state": {Register: -1, Loads: []ArgLoad{{8, 8, false}, {4, 1, false}}},
		},
		70: {"$arg.bytes": {Narrow: ArgLoad{Size: 8, Signed: true}}}, // of the manual
		11: {"$arg.text": {}, "$arg[0]": {}, "$arg.s.name": {Register: -1, Offset: 16, Room: 8}},
	}[id]
	if places == nil {
		return ArgPlace{}, &NoTypes{e.FuncName(id), "there is no DWARF; build it with -g"}
	}
	if p, ok := places[path.String()]; ok {
		return p, nil
	}
	if path.Name == "" && path.Index <= 5 && len(path.Fields) == 0 && !path.Text {
		return ArgPlace{Register: path.Index}, nil
	}
	if len(path.Fields) > 0 {
		return ArgPlace{}, &NoSuchName{"field", path.Fields[len(path.Fields)-1].Name, "struct conn", []string{"fd", "peer", "at"}}
	}
	return ArgPlace{}, &NoSuchName{"parameter", strings.TrimPrefix(path.String()[4:], "."), e.FuncName(id), []string{"len", "c", "seventh"}}
}

func (e *fakeEnv) OwnTypes(FuncID) bool { return true }

// Result: nothing is known of write, sem_wait returns an int, leaf a bool, exit nothing; all others return a long.
func (e *fakeEnv) Result(id FuncID) (ArgLoad, error) {
	switch id {
	case 30:
		return ArgLoad{}, &NoTypes{e.FuncName(id), "there is no DWARF; build it with -g"}
	case 21:
		return ArgLoad{Size: 4, Signed: true}, nil
	case 11:
		return ArgLoad{Size: 1}, nil
	case 40:
		return ArgLoad{}, &NoValue{"exit returns nothing"}
	}
	return ArgLoad{Size: 8, Signed: true}, nil
}

func (e *fakeEnv) Machine() string   { return "node1" }
func (e *fakeEnv) Flavors() []string { return e.flavors }
