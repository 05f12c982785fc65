package pcl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/grid"
)

const subsystems = `
hierarchy Subsystem {
    item "compute" is { "/Code/work.c" };
    item "mixed" is { "/Code/main.c/helper", "/Code/absent.c", "/Code/libc.so.6/write", "/Code/libc.so.6/__write" };
    item "gone" is { "/Code/nowhere.c/x", "/Code/libabsent.so" };
}
hierarchy Lock {
    item "hot" is { "/SyncObject/Mutex/cache_lock", "/SyncObject/Semaphore/slots", "/SyncObject/Mutex/absent" };
    item "none" is { "/SyncObject/Mutex/nowhere" };
    item "file" is { "/IO/File//tmp/x" };
    item "loops" is { "/Code/work.c/work/loop_1", "/Code/main.c/main", "/Code/main.c/helper/loop_1" };
}
hierarchy Layer { item "low" is { "/Code/libc.so.6" }; }`

// clashing are metrics that cannot be read at some items.
const clashing = `
hierarchy Single { item "lock" is { "/SyncObject/Mutex/cache_lock" }; }
constraint as_well /Code is counter { foreach f in $constraint[0].funcs { append preInsn f.entry (* as_well = 1; *) prepend preInsn f.return (* as_well = 0; *) } }
metric doubled { name "doubled"; units x; aggregateOperator sum; style EventCounter; constraint moduleInclusive; constraint as_well;
    base is counter { append preInsn $start.entry constrained (* doubled++; *) } }
metric split { name "split"; units x; aggregateOperator sum; style EventCounter; constraint procedureInclusive;
    constraint split_way /Code/*/* is replace counter { append preInsn $constraint[0].start_iter (* split++; *) }
    base is counter { append preInsn $start.entry constrained (* split++; *) } }`

func itemPair(t testing.TB, lib *Library, text string) (string, grid.Focus) {
	t.Helper()
	k, err := grid.ParsePair(text, lib.Defined()...)
	if err != nil {
		t.Fatal(err)
	}
	return k.Metric, k.Focus
}

// TestItemIsAModule: an item of code compiles to what it would if its functions were a module of their own, for every metric
// that can be read at modules.
func TestItemIsAModule(t *testing.T) {
	lib := load(t, subsystems)
	moved := newTarget()
	moved.modules = append(moved.modules, "mixed")
	for i := range moved.funcs {
		if id := moved.funcs[i].id; id == 2 || id == 30 {
			moved.funcs[i].module = "mixed"
		}
	}
	compared := 0
	for _, m := range lib.Metrics() {
		want, err := lib.Compile(m.Name, grid.Whole().Refine(grid.Code, "mixed"), moved)
		if err != nil {
			continue
		}
		focus := grid.Whole().WithItem("Subsystem", "mixed")
		got, err := lib.Compile(m.Name, focus, newTarget())
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		want.Pair.Focus = focus
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s (-module +item):\n%s", m.Name, diff)
		}
		compared++
	}
	t.Logf("%d metrics are the same at an item and at a module of the same functions", compared)
	if compared < 10 {
		t.Errorf("only %d metrics can be read at a module", compared)
	}
}

// itemCases: a pair, and the plan or a part of the error.
var itemCases = []struct{ name, pair, want string }{
	{"outermost entry of any part", "cpu_inclusive@/Subsystem/compute", `
cpu_inclusive@/Subsystem/compute: processTimer
  processTimer cpuInclusive
  append preInsn 10.entry { timerEnter cpuInclusive }
  prepend preInsn 10.return { timerLeave cpuInclusive }
  append preInsn 11.entry { timerEnter cpuInclusive }
  prepend preInsn 11.return { timerLeave cpuInclusive }
`},
	{"one name each, one count each", "procedure_calls@/Subsystem/mixed", `
procedure_calls@/Subsystem/mixed: counter
  counter procedureCalls
  append preInsn 2.entry { procedureCalls += 1 }
  append preInsn 30.entry { procedureCalls += 1 }
`},
	{"functions and loops", "procedure_calls@/Lock/loops", `
procedure_calls@/Lock/loops: counter
  counter procedureCalls
  append preInsn 10.enter[0] { procedureCalls += 1 }
  append preInsn 2.enter[0] { procedureCalls += 1 }
  append preInsn 1.entry { procedureCalls += 1 }
`},
	{"one flag for functions and loops", "io_ops@/Lock/loops,/Process/a{7}", `
io_ops@/Process/a{7},/Lock/loops: counter, process "a{7}"
  counter ioOps
  counter loopInclusive
  append preInsn 10.enter[0] { enter loopInclusive }
  append preInsn 2.enter[0] { enter loopInclusive }
  prepend preInsn 10.exit[0] { leave loopInclusive }
  prepend preInsn 2.exit[0] { leave loopInclusive }
  append preInsn 1.entry { enter loopInclusive }
  prepend preInsn 1.return { leave loopInclusive }
  append preInsn 30.entry if loopInclusive { ioOps += 1 }
  append preInsn 31.entry if loopInclusive { ioOps += 1 }
`},
	{"one flag for objects of several kinds, what is missing left out", "sync_ops@/Lock/hot", `
sync_ops@/Lock/hot: counter
  counter syncOps
  counter oneMutex
  prepend preInsn 20.entry { if ($arg[0] == 5) enter oneMutex }
  append preInsn 20.return { leave oneMutex }
  prepend preInsn 21.entry { if ($arg[0] == 6) enter oneMutex }
  append preInsn 21.return { leave oneMutex }
  append preInsn 20.entry if oneMutex { syncOps += 1 }
  append preInsn 21.entry if oneMutex { syncOps += 1 }
`},
	{"objects below a function", "sync_ops@/Code/main.c/helper,/Lock/hot", `
sync_ops@/Code/main.c/helper,/Lock/hot: counter
  counter syncOps
  counter procedureInclusive
  counter oneMutex
  append preInsn 2.entry { enter procedureInclusive }
  prepend preInsn 2.return { leave procedureInclusive }
  prepend preInsn 20.entry { if ($arg[0] == 5) enter oneMutex }
  append preInsn 20.return { leave oneMutex }
  prepend preInsn 21.entry { if ($arg[0] == 6) enter oneMutex }
  append preInsn 21.return { leave oneMutex }
  append preInsn 20.entry if procedureInclusive and oneMutex { syncOps += 1 }
  append preInsn 21.entry if procedureInclusive and oneMutex { syncOps += 1 }
`},
	{"kept by the kernel for the whole", "blocked@/Subsystem/compute", "blocked@/Subsystem/compute: kernel(\"blocked_time\"), parked excluded\n"},
	{"a key", "lock_acquisitions@/Single/lock", "eachMutex is a key, which selects single objects; name one of the objects of the item"},
	{"nothing of it is there", "cpu@/Subsystem/gone", "refused at /Subsystem/gone: the target has nothing of what it stands for: /Code/nowhere.c/x, /Code/libabsent.so"},
	{"no such object", "sync_ops@/Lock/none", "refused at /Lock/none: the target has nothing"},
	{"unknown item", "cpu@/Subsystem/mixd", `the hierarchy Subsystem has no item "mixd", expected one that it has (did you mean "mixed"?)`},
	{"both ways", "cpu@/Code/main.c,/Subsystem/mixed", "stands for parts of /Code, and /Code/main.c is chosen as well; name one of them"},
	{"no constraint", "cpu@/Lock/hot", "no constraint of it covers this part of /SyncObject"},
	{"no constraint for loops", "exec_time@/Lock/loops", "no constraint of it covers this part of /Code"},
	{"a flag for one, a replacement for another", "split@/Lock/loops", "split_way and procedureInclusive cannot be joined for the parts of one item"},
	{"two constraints for a part", "doubled@/Subsystem/compute", "both moduleInclusive and as_well apply to /Subsystem/compute"},
	{"replacement and object", "procedure_calls@/SyncObject/Mutex/cache_lock,/Subsystem/mixed", "no constraint of it covers this part of /SyncObject"},
}

func TestItemPlans(t *testing.T) {
	lib := load(t, subsystems, clashing)
	for _, tt := range itemCases {
		t.Run(tt.name, func(t *testing.T) {
			metric, focus := itemPair(t, lib, tt.pair)
			plan, err := lib.Compile(metric, focus, newTarget())
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) || strings.HasPrefix(tt.want, "\n") {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				return
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), plan.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := lib.Compile("cpu", grid.Whole().WithItem("Subsystem", "gone"), newTarget())
	if refused := (grid.ErrRefused{}); !errors.As(err, &refused) {
		t.Errorf("what is not there is %T, want a refusal: it may be loaded later", err)
	}
}

// TestItemsShareAFlag runs events through the plan of two locks: it counts what happens at either of them, and nothing twice.
func TestItemsShareAFlag(t *testing.T) {
	lib, env := load(t, subsystems), newTarget()
	compile := func(f grid.Focus) *Plan {
		p, err := lib.Compile("sync_ops", f, env)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	both := compile(grid.Whole().WithItem("Lock", "hot"))
	mutex := compile(grid.Whole().Refine(grid.SyncObject, "Mutex", "cache_lock"))
	sem := compile(grid.Whole().Refine(grid.SyncObject, "Semaphore", "slots"))
	sum, rounds := int64(0), 0
	for seed := range uint64(200) {
		events := walk(env, rand.New(rand.NewPCG(seed, 7)))
		got, want := sumOf(both, events), sumOf(mutex, events)+sumOf(sem, events)
		if got != want {
			t.Fatalf("seed %d: %d operations at the item, %d at its parts", seed, got, want)
		}
		sum, rounds = sum+got, rounds+1
	}
	t.Logf("%d operations in %d runs", sum, rounds)
	if sum == 0 {
		t.Error("nothing was counted")
	}
}

// sumOf is what the metric's own variable is after the events.
func sumOf(p *Plan, events []event) int64 {
	sum, _ := runPlan(p, events)
	return sum
}

// TestItemTimeIsNotAddedUp: a timer at an item of two functions that call each other runs at most as long as the program, and
// is as long as the union of their activations; the values of the two add up to more.
func TestItemTimeIsNotAddedUp(t *testing.T) {
	lib, env := load(t, `hierarchy H { item "both" is { "/Code/work.c/work", "/Code/work.c/leaf" }; }`), newTarget()
	more, total := 0, int64(0)
	for seed := range uint64(200) {
		events := walk(env, rand.New(rand.NewPCG(seed, 7)))
		value := func(f grid.Focus) int64 {
			p, err := lib.Compile("exec_time_inclusive", f, env)
			if err != nil {
				t.Fatal(err)
			}
			return sumOf(p, events)
		}
		got, want := value(grid.Whole().WithItem("H", "both")), timeInside(events, 10, 11)
		if got != want {
			t.Fatalf("seed %d: %d at the item, its functions were active for %d", seed, got, want)
		}
		total += got
		if value(grid.Whole().Refine(grid.Code, "work.c", "work"))+value(grid.Whole().Refine(grid.Code, "work.c", "leaf")) > got {
			more++
		}
	}
	t.Logf("time %d; in %d of 200 runs the sum over the functions would have been more", total, more)
	if more < 20 || total == 0 {
		t.Errorf("the functions hardly call each other: %d runs, time %d", more, total)
	}
}

// timeInside is the time in which any activation of the functions is there, told from the events alone.
func timeInside(events []event, fns ...FuncID) (sum int64) {
	depth, since := 0, int64(0)
	for _, e := range events {
		for _, f := range fns {
			switch {
			case e.at.fn == f && e.at.where == Entry:
				if depth == 0 {
					since = e.now
				}
				depth++
			case e.at.fn == f && e.at.where == Return:
				if depth--; depth == 0 {
					sum += e.now - since
				}
			}
		}
	}
	return sum
}

// hierarchyProblems: a text, and a part of the one problem with it.
var hierarchyProblems = []struct{ text, want string }{
	{`hierarchy Code { item "x" is { "/Code/a" }; }`, "hierarchy Code: found the name of a fixed hierarchy"},
	{`hierarchy H { }`, `found no item, expected at least one`},
	{`hierarchy H { item "x" is { }; }`, `found the item "x" without resources`},
	{`hierarchy H { item "" is { "/Code/a" }; }`, `found the name ""`},
	{`hierarchy H { item "*" is { "/Code/a" }; }`, `found the name "*"`},
	{`hierarchy H { item "x" is { "/Code/a" }; item "x" is { "/Code/b" }; }`, `found the item "x" a second time`},
	{`hierarchy H { item "x" is { "/Cod/a" }; }`, `found a path that is no path of a resource: focus "/Cod/a": column 2`},
	{`hierarchy H { item "x" is { "/Code" }; }`, "expected a part of a hierarchy"},
	{`hierarchy H { item "x" is { "/" }; }`, "expected a part of a hierarchy"},
	{`hierarchy H { item "x" is { "/Code/a,/Process/b" }; }`, "expected a path of one hierarchy"},
	{`hierarchy H { item "x" is { "/Process/b" }; }`, "have other names in each run"},
	{`hierarchy H { item "x" is { "/Machine/b" }; }`, "have other names in each run"},
	{`hierarchy H { item "x" is { "/Code/a", "/IO/File//tmp/x" }; }`, "expected resources of one hierarchy in an item"},
	{`hierarchy H { item "x" is { "/Code/a/b/c/d" }; }`, "expected at most 3 names below /Code"},
	{`hierarchy H { item "x" is { "/SyncObject/Mutx/b" }; }`, `(did you mean "Mutex"?)`},
	{`hierarchy H { item "x" is { "/Code/a", "/Code/a" }; }`, `belongs to the item "x" already`},
	{`hierarchy H { item "x" is { "/Code/a" }; item "y" is { "/Code/a" }; }`, `belongs to the item "x" already`},
	{`hierarchy H { item "x" is { "/Code/a" }; item "y" is { "/Code/a/f" }; }`, `belongs to the item "x" already as a part of /Code/a`},
	{`hierarchy H { item "x" is { "/Code/a/f" }; item "y" is { "/Code/a" }; }`, `of which the item "x" has a part already`},
	{`hierarchy H { item "x" is { "/Code/a/f/loop_1" }; item "y" is { "/Code/a/f/loop_1.2" }; }`, `as a part of /Code/a/f/loop_1`},
	{`hierarchy H { item "x" is { "/Code/a/f/loop_1.2.1" }; item "y" is { "/Code/a/f/loop_1" }; }`, `of which the item "x" has a part`},
	{`hypothesis N { test cpu_inclusive > 1; refine { Subsytem }; } hierarchy Subsystem { item "x" is { "/Code/a" }; }`,
		`found the unknown hierarchy "Subsytem", expected one of Code, Machine, Process, SyncObject, IO, Memory, Subsystem (did you mean "Subsystem"?)`},
	{`hypothesis N { test cpu_inclusive > 1; refine { Lock }; } hierarchy Lock { item "x" is { "/SyncObject/Mutex/a" }; }`,
		"at which the hypothesis can be tested: metric cpu_inclusive cannot be read at /Lock/x"},
	{`expect E { cpu < 1 at "/Subsystem/prser"; } hierarchy Subsystem { item "parser" is { "/Code/a" }; }`, `has no item "prser", expected one that it has (did you mean "parser"?)`},
	{`expect E { cpu < 1 at "/Subsystm/parser"; } hierarchy Subsystem { item "parser" is { "/Code/a" }; }`, `expected one of Code, Machine, Process, SyncObject, IO, Memory, Subsystem`},
	{`expect E { cpu < 1 at "/Lock/x"; } hierarchy Lock { item "x" is { "/SyncObject/Mutex/a" }; }`, "metric cpu cannot be read at /Lock/x"},
	{`expect E { cpu < 1 at "/IO/File"; }`, "metric cpu cannot be read at /IO/File"},
	{`expect E { not CPUbound at "/IO/File"; }`, "metric cpu_inclusive cannot be read at /IO/File"},
}

func TestHierarchyProblems(t *testing.T) {
	for _, tt := range hierarchyProblems {
		_, problems, err := Load(Options{Texts: []string{tt.text}})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Msg, tt.want) {
			t.Errorf("%s:\ngot  %v, %v\nwant %s", tt.text, problems, err, tt.want)
		}
	}
}

// TestHierarchyOfACompiler: a file with very many items loads in a time that grows with its size.
func TestHierarchyOfACompiler(t *testing.T) {
	var sb strings.Builder
	sb.WriteString("hierarchy Array {\n")
	const items = 5000
	for i := range items {
		fmt.Fprintf(&sb, "item \"A%d\" is { \"/Code/m%d.c\", \"/Code/n.c/f%d\", \"/Code/n.c/g%d/loop_1\" };\n", i, i, i, i)
	}
	sb.WriteString("}\n")
	lib := load(t, sb.String())
	f := grid.Whole().WithItem("Array", "A4999")
	it, err := lib.Item(f)
	if err != nil || len(lib.Items("Array")) != items || len(it.Foci) != 3 || it.Focus() != f {
		t.Fatalf("got %d items, %+v, %v", len(lib.Items("Array")), it, err)
	}
	t.Logf("%d items in %d KiB", items, sb.Len()>>10)
}

// TestHypothesisAlongItems: a hypothesis names defined hierarchies beside fixed ones, and the reference shows them.
func TestHypothesisAlongItems(t *testing.T) {
	lib := load(t, subsystems, `hypothesis Busy { test cpu_inclusive > 0.5; refine { Code, Subsystem, Layer }; suppress { "/Subsystem/gone" }; }`)
	hs := lib.Hypotheses()
	h := hs[len(hs)-1]
	if got := strings.Join(h.Along(), " "); got != "Code Subsystem Layer" || len(h.Refine) != 2 || h.Refine[1] != grid.Defined {
		t.Errorf("refined along %s, %v", got, h.Refine)
	}
	doc := lib.Doc()
	for _, want := range []string{"Refined along: Code, Subsystem, Layer.", "| `/Subsystem/compute` | `/Code/work.c` |"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the reference does not say %q", want)
		}
	}
}

// FuzzItems: whatever hierarchy loads, a metric at each of its items compiles to a sound plan or to an error, the same on every run.
func FuzzItems(f *testing.F) {
	f.Add(subsystems, uint8(255))
	f.Add(subsystems, uint8(0))
	f.Add(`hierarchy H { item "a,/Code" is { "/Code/work.c/work/loop_1", "/Code/work.c/work/loop_1.1" }; }`, uint8(7))
	f.Add(`hierarchy H { item "%2F/" is { "/SyncObject", "/SyncObject/Mutex" }; item "x" is { "/IO/File//tmp/x,/Code" }; }`, uint8(9))
	f.Add(`hierarchy H { item "m" is { "/Memory/x/y" }; } expect E { cpu < 1 at "/H/m"; calls > 1 at "/H/m"; }`, uint8(3))
	f.Fuzz(func(t *testing.T, src string, shape uint8) {
		lib, problems, err := Load(Options{NoDefault: true, Texts: []string{itemPrelude, src}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			_ = p.Detail()
		}
		env := shapedTarget(shape)
		for _, h := range lib.Defined() {
			for _, it := range lib.Items(h)[:min(4, len(lib.Items(h)))] {
				checkItem(t, lib, it, env)
			}
		}
	})
}

// itemPrelude has metrics that are restricted in all ways: by flags and by replacements, at modules, functions, loops and objects.
const itemPrelude = prelude + `
constraint inModule /Code is counter { foreach f in $constraint[0].funcs { append preInsn f.entry (* inModule = 1; *) foreach c in f.calls append preInsn c (* inModule = 0; *) } }
constraint inLoop /Code/*/* is counter { append preInsn $constraint[0].enter (* inLoop = 1; *) prepend preInsn $constraint[0].exit (* inLoop = 0; *) }
constraint oneLock /SyncObject/Mutex is counter { foreach f in locks { append preInsn f.entry (* if ($arg[0] == $constraint[0]) oneLock = 1; *) append preInsn f.return (* oneLock = 0; *) } }
constraint anyFile /IO/File is default;
metric flagged { name "flagged"; units x; aggregateOperator sum; style EventCounter; constraint inModule; constraint inLoop; constraint oneLock; constraint anyFile;
	base is counter { foreach f in locks append preInsn f.entry constrained (* flagged++; *) } }
metric replaced { name "replaced"; units x; aggregateOperator sum; style EventCounter; constraint oneLock;
	constraint one /Code/* is replace wallTimer { append preInsn $constraint[0].entry (* startWallTimer(replaced); *) prepend preInsn $constraint[0].return (* stopWallTimer(replaced); *) }
	constraint loop /Code/*/* is replace wallTimer { append preInsn $constraint[0].enter (* startWallTimer(replaced); *) prepend preInsn $constraint[0].exit (* stopWallTimer(replaced); *) }
	base is wallTimer { } }
`

func checkItem(t *testing.T, lib *Library, it *GroupingItem, env Env) {
	f := it.Focus()
	if back, err := grid.ParseFocus(f.String(), lib.Defined()...); err != nil || back != f {
		t.Fatalf("%q is read back as %v, %v", f.String(), back, err)
	}
	for _, m := range lib.Metrics() {
		plan, err := lib.Compile(m.Name, f, env)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			continue
		}
		checkPlan(t, plan)
		again, err := lib.Compile(m.Name, f, env)
		if err != nil || again.String() != plan.String() || len(again.Beyond(plan)) > 0 {
			t.Fatalf("compiling again gives %v\n%v\n%v", err, plan, again)
		}
	}
}

// TestBeyond: the requests of what has come, in order, and nothing of what was there.
func TestBeyond(t *testing.T) {
	lib, small := load(t, subsystems), newTarget()
	small.funcs = small.funcs[:3] // without leaf
	plan := func(env Env) *Plan {
		p, err := lib.Compile("cpu", grid.Whole().WithItem("Subsystem", "compute"), env)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before, after := plan(small), plan(newTarget())
	more := after.Beyond(before)
	if len(more) == 0 || len(more)+len(before.Requests) != len(after.Requests) {
		t.Fatalf("%d requests before, %d after, %d more", len(before.Requests), len(after.Requests), len(more))
	}
	for _, r := range more {
		if r.Func != 11 {
			t.Errorf("a request of function %d, which was there", r.Func)
		}
	}
}
