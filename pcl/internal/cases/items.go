package cases

import (
	"testing"

	"culprit/grid"
	"culprit/pcl"
)

// Subsystems are hierarchies with items of code and of objects.
const Subsystems = `
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

// Clashing are metrics that cannot be read at some items.
const Clashing = `
hierarchy Single { item "lock" is { "/SyncObject/Mutex/cache_lock" }; }
constraint as_well /Code is counter { foreach f in $constraint[0].funcs { append preInsn f.entry (* as_well = 1; *) prepend preInsn f.return (* as_well = 0; *) } }
metric doubled { name "doubled"; units x; aggregateOperator sum; style EventCounter; constraint moduleInclusive; constraint as_well;
    base is counter { append preInsn $start.entry constrained (* doubled++; *) } }
metric split { name "split"; units x; aggregateOperator sum; style EventCounter; constraint procedureInclusive;
    constraint split_way /Code/*/* is replace counter { append preInsn $constraint[0].start_iter (* split++; *) }
    base is counter { append preInsn $start.entry constrained (* split++; *) } }`

// ItemPair reads a metric-focus pair whose focus may select an item.
func ItemPair(t testing.TB, lib *pcl.Library, text string) (string, grid.Focus) {
	t.Helper()
	k, err := grid.ParsePair(text, lib.Defined()...)
	if err != nil {
		t.Fatal(err)
	}
	return k.Metric, k.Focus
}

// Items are cases: a pair, and the plan or a part of the error.
var Items = []struct{ Name, Pair, Want string }{
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

// hierarchyProblems: a text, and a part of the one problem with it.
var HierarchyProblems = []struct{ Text, Want string }{
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
