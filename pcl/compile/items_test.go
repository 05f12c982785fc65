package compile

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

// TestItemIsAModule: an item of code compiles to what it would if its functions were a module of their own, for every metric
// that can be read at modules.
func TestItemIsAModule(t *testing.T) {
	lib := cases.Load(t, cases.Subsystems)
	moved := cases.NewTarget()
	moved.ModuleNames = append(moved.ModuleNames, "mixed")
	for i := range moved.Funcs {
		if id := moved.Funcs[i].ID; id == 2 || id == 30 {
			moved.Funcs[i].Module = "mixed"
		}
	}
	compared := 0
	for _, m := range lib.Metrics() {
		want, err := Plan(lib, m.Name, grid.Whole().Refine(grid.Code, "mixed"), moved)
		if err != nil {
			continue
		}
		focus := grid.Whole().WithItem("Subsystem", "mixed")
		got, err := Plan(lib, m.Name, focus, cases.NewTarget())
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

func TestItemPlans(t *testing.T) {
	lib := cases.Load(t, cases.Subsystems, cases.Clashing)
	for _, tt := range cases.Items {
		t.Run(tt.Name, func(t *testing.T) {
			metric, focus := cases.ItemPair(t, lib, tt.Pair)
			plan, err := Plan(lib, metric, focus, cases.NewTarget())
			if err != nil {
				if !strings.Contains(err.Error(), tt.Want) || strings.HasPrefix(tt.Want, "\n") {
					t.Errorf("got %v, want %s", err, tt.Want)
				}
				return
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.Want, "\n"), plan.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := Plan(lib, "cpu", grid.Whole().WithItem("Subsystem", "gone"), cases.NewTarget())
	if refused := (grid.ErrRefused{}); !errors.As(err, &refused) {
		t.Errorf("what is not there is %T, want a refusal: it may be loaded later", err)
	}
}

// TestItemsShareAFlag runs events through the plan of two locks: it counts what happens at either of them, and nothing twice.
func TestItemsShareAFlag(t *testing.T) {
	lib, env := cases.Load(t, cases.Subsystems), cases.NewTarget()
	compile := func(f grid.Focus) *pcl.Plan {
		p, err := Plan(lib, "sync_ops", f, env)
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
func sumOf(p *pcl.Plan, events []event) int64 {
	sum, _ := runPlan(p, events)
	return sum
}

// TestItemTimeIsNotAddedUp: a timer at an item of two functions that call each other runs at most as long as the program, and
// is as long as the union of their activations; the values of the two add up to more.
func TestItemTimeIsNotAddedUp(t *testing.T) {
	lib, env := cases.Load(t, `hierarchy H { item "both" is { "/Code/work.c/work", "/Code/work.c/leaf" }; }`), cases.NewTarget()
	more, total := 0, int64(0)
	for seed := range uint64(200) {
		events := walk(env, rand.New(rand.NewPCG(seed, 7)))
		value := func(f grid.Focus) int64 {
			p, err := Plan(lib, "exec_time_inclusive", f, env)
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
func timeInside(events []event, fns ...pcl.FuncID) (sum int64) {
	depth, since := 0, int64(0)
	for _, e := range events {
		for _, f := range fns {
			switch {
			case e.at.fn == f && e.at.where == pcl.Entry:
				if depth == 0 {
					since = e.now
				}
				depth++
			case e.at.fn == f && e.at.where == pcl.Return:
				if depth--; depth == 0 {
					sum += e.now - since
				}
			}
		}
	}
	return sum
}

// FuzzItems: whatever hierarchy loads, a metric at each of its items compiles to a sound plan or to an error, the same on every run.
func FuzzItems(f *testing.F) {
	f.Add(cases.Subsystems, uint8(255))
	f.Add(cases.Subsystems, uint8(0))
	f.Add(`hierarchy H { item "a,/Code" is { "/Code/work.c/work/loop_1", "/Code/work.c/work/loop_1.1" }; }`, uint8(7))
	f.Add(`hierarchy H { item "%2F/" is { "/SyncObject", "/SyncObject/Mutex" }; item "x" is { "/IO/File//tmp/x,/Code" }; }`, uint8(9))
	f.Add(`hierarchy H { item "m" is { "/Memory/x/y" }; } expect E { cpu < 1 at "/H/m"; calls > 1 at "/H/m"; }`, uint8(3))
	f.Fuzz(func(t *testing.T, src string, shape uint8) {
		lib, problems, err := check.Load(check.Options{NoDefault: true, Texts: []string{itemPrelude, src}})
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
const itemPrelude = cases.Prelude + `
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

func checkItem(t *testing.T, lib *pcl.Library, it *pcl.GroupingItem, env pcl.Env) {
	f := it.Focus()
	if back, err := grid.ParseFocus(f.String(), lib.Defined()...); err != nil || back != f {
		t.Fatalf("%q is read back as %v, %v", f.String(), back, err)
	}
	for _, m := range lib.Metrics() {
		plan, err := Plan(lib, m.Name, f, env)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			continue
		}
		checkPlan(t, plan)
		again, err := Plan(lib, m.Name, f, env)
		if err != nil || again.String() != plan.String() || len(again.Beyond(plan)) > 0 {
			t.Fatalf("compiling again gives %v\n%v\n%v", err, plan, again)
		}
	}
}

// TestBeyond: the requests of what has come, in order, and nothing of what was there.
func TestBeyond(t *testing.T) {
	lib, small := cases.Load(t, cases.Subsystems), cases.NewTarget()
	small.Funcs = small.Funcs[:3] // without leaf
	plan := func(env pcl.Env) *pcl.Plan {
		p, err := Plan(lib, "cpu", grid.Whole().WithItem("Subsystem", "compute"), env)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before, after := plan(small), plan(cases.NewTarget())
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
