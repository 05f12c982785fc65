package daemon

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/internal/testprog"
)

func itemKey(metric, hierarchy, item string) grid.PairKey {
	return grid.PairKey{Metric: metric, Focus: grid.Whole().WithItem(hierarchy, item)}
}

// TestItemCounts: an item of functions, some of which call each other and one of which is not there, counts what the program
// counts; nothing of it being there is an error.
func TestItemCounts(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "300000", "3")
	d := attachWith(t, `hierarchy Part {
		item "tails" is { "/Code/calls.c/tail_first", "/Code/calls.c/tail_second", "/Code/calls.c/tail_last", "/Code/gone.c" };
		item "jumps" is { "/Code/calls.c/deep_jump", "/Code/calls.c/try_jump" };
		item "gone" is { "/Code/nowhere.c/x", "/Code/libgone.so.1" }; }`, p.PID)
	var s sums
	tails, jumps, gone := itemKey("procedure_calls", "Part", "tails"), itemKey("procedure_calls", "Part", "jumps"), itemKey("cpu", "Part", "gone")
	enableTogether(t, d, &s, tails, jumps)
	refused := grid.ErrRefused{}
	if r := d.Enable([]grid.PairKey{gone}, &s); !errors.As(r[0].Err, &refused) || !strings.Contains(refused.Reason, "/Code/nowhere.c/x, /Code/libgone.so.1") {
		t.Errorf("what is not there: %v", r[0].Err)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable([]grid.PairKey{tails, jumps})
	c := p.Counts()
	for k, want := range map[grid.PairKey]uint64{tails: c["tail_first"] + c["tail_second"] + c["tail_last"], jumps: c["deep_jump"] + c["try_jump"]} {
		if got := uint64(s.of(k)); got != want || want == 0 {
			t.Errorf("%v: %d calls counted, the program made %d", k, got, want)
		}
		t.Logf("%v: %.0f calls", k, s.of(k))
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestItemOfLoopsAndFunctions: the flag of an item is set in a loop of one function and in the whole of others.
func TestItemOfLoopsAndFunctions(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/loops.c"), "30000", "3")
	d := attachWith(t, leafBoth, p.PID)
	var s sums
	item := itemKey("leaf_calls_both", "Part", "mixed")
	loop, whole := key(t, "leaf_calls_both", "/Code/loops.c/nest/loop_1.1"), key(t, "leaf_calls_both", "/Code/loops.c/choose")
	keys := []grid.PairKey{item, loop, whole}
	enableTogether(t, d, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	if got, want := s.of(item), s.of(loop)+s.of(whole); got != want || s.of(whole) == 0 || uint64(s.of(loop)) != p.Counts()["leaf_inside"] {
		t.Errorf("%.0f calls in the item, %.0f in the loop (the program says %d), %.0f in the function", got, s.of(loop), p.Counts()["leaf_inside"], s.of(whole))
	}
	t.Logf("%.0f calls in the item: %.0f in the loop and %.0f in the function", s.of(item), s.of(loop), s.of(whole))
	detachClean(t, d, p.PID)
	p.Stop(t)
}

const leafBoth = `
metric leafBoth { name "leaf_calls_both"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Calls of leaf.";
	constraint loopInclusive; constraint procedureInclusive;
	base is counter { append preInsn $function("leaf").entry constrained (* leafBoth++; *) } }
hierarchy Part { item "mixed" is { "/Code/loops.c/nest/loop_1.1", "/Code/loops.c/choose", "/Code/loops.c/leaf/loop_9" }; }`

// TestItemTimeIsTheUnion: the inclusive time of three functions that call each other is that of the outermost, in a program that
// stands in the middle of them when its probes come.
func TestItemTimeIsTheUnion(t *testing.T) {
	p := testprog.Start(t, testprog.Build(t, "testdata/demo/cpu.c"))
	d := attachWith(t, `hierarchy Subsystem { item "search" is { "/Code/cpu.c/rank_products", "/Code/cpu.c/search_products", "/Code/cpu.c/serve_request" }; }`, p.PID)
	for _, metric := range []string{"exec_time_inclusive", "cpu_inclusive"} {
		var s sums
		item := itemKey(metric, "Subsystem", "search")
		parts := []grid.PairKey{key(t, metric, "/Code/cpu.c/serve_request"), key(t, metric, "/Code/cpu.c/search_products"), key(t, metric, "/Code/cpu.c/rank_products")}
		all := append(slices.Clone(parts), item)
		enableTogether(t, d, &s, all...)
		time.Sleep(time.Duration(rounds(1000, 20000)) * time.Millisecond)
		d.Disable(all)
		sum := s.of(parts[0]) + s.of(parts[1]) + s.of(parts[2])
		t.Logf("%s: %.4f s at the item, %.4f s at the outermost function, %.4f s if the functions were added up", metric, s.of(item), s.of(parts[0]), sum)
		if off := math.Abs(s.of(item)/s.of(parts[0]) - 1); !(off < 0.02) {
			t.Errorf("%s: the item differs from the outermost function by %.2f %%", metric, 100*off)
		}
		if sum < 2.5*s.of(item) {
			t.Errorf("%s: the functions hardly call each other", metric)
		}
	}
	detachClean(t, d, p.PID)
}

// TestItemOfLocks: an item of two mutexes has the operations of both, and the search finds them below it.
func TestItemOfLocks(t *testing.T) {
	p := testprog.Start(t, testprog.Build(t, "testdata/demo/lock.c"))
	d := attachWith(t, `hierarchy Lock { item "own" is { "/SyncObject/Mutex/session_table_lock", "/SyncObject/Mutex/log_lock", "/SyncObject/Mutex/gone_lock" };
		item "none" is { "/SyncObject/Mutex/gone_lock2" }; }`, p.PID)
	var s sums
	item := itemKey("sync_ops", "Lock", "own")
	table, log := key(t, "sync_ops", "/SyncObject/Mutex/session_table_lock"), key(t, "sync_ops", "/SyncObject/Mutex/log_lock")
	all := []grid.PairKey{item, table, log}
	enableTogether(t, d, &s, all...)
	time.Sleep(time.Second)
	d.Disable(all)
	t.Logf("%.0f operations on the item, %.0f on one lock, %.0f on the other", s.of(item), s.of(table), s.of(log))
	if s.of(table) == 0 || s.of(log) == 0 || math.Abs(s.of(item)-s.of(table)-s.of(log)) > 8 { // threads may be between the three switches
		t.Error("the operations on the item are not those on its locks")
	}
	if r := d.Refinements(grid.Whole(), grid.Defined); len(r) != 1 || r[0] != item.Focus {
		t.Errorf("items that are there: %v", r)
	}
	if r := d.Refinements(item.Focus, grid.SyncObject); !slices.Contains(r, table.Focus) || !slices.Contains(r, log.Focus) {
		t.Errorf("below the item: %v", r)
	}
	if r := d.Refinements(item.Focus.Refine(grid.Code, "lock.c", "worker"), grid.SyncObject); len(r) == 0 || r[0].Depth(grid.Code) != 2 {
		t.Errorf("below the item in a function: %v", r)
	}
	awaitWeight(t, d, item.Focus, "sync", 0.5)
	detachClean(t, d, p.PID)
}

// TestItemRefinements: from the whole program to the items that it has, and on to their functions; stack samples tell how much
// happens at one.
func TestItemRefinements(t *testing.T) {
	p := testprog.Start(t, testprog.Build(t, "testdata/demo/cpu.c"))
	d := attachWith(t, `hierarchy Subsystem { item "ranking" is { "/Code/cpu.c/rank_products", "/Code/cpu.c/score_product" };
		item "parsing" is { "/Code/cpu.c/parse_request" }; item "gone" is { "/Code/gone.c" }; }
		hierarchy Z { item "libc" is { "/Code/libc.so.6" }; }`, p.PID)
	library := grid.Whole().WithItem("Z", "libc")
	ranking, parsing := grid.Whole().WithItem("Subsystem", "ranking"), grid.Whole().WithItem("Subsystem", "parsing")
	if r := d.Refinements(grid.Whole(), grid.Defined); !slices.Equal(r, []grid.Focus{parsing, ranking, library}) {
		t.Errorf("items that are there: %v", r)
	}
	rank := grid.Whole().Refine(grid.Code, "cpu.c", "rank_products")
	if r := d.Refinements(ranking, grid.Code); len(r) != 2 || !slices.Contains(r, rank) {
		t.Errorf("below an item: %v", r)
	}
	if r := append(d.Refinements(ranking, grid.Defined), d.Refinements(rank, grid.Defined)...); len(r) > 0 {
		t.Errorf("code is chosen twice: %v", r)
	}
	awaitWeight(t, d, ranking, "cpu", 0.8)
	if r := d.Refinements(library, grid.Code); len(r) == 0 || len(r) > 200 || slices.ContainsFunc(r, func(f grid.Focus) bool { return d.Weight(f, "cpu") == 0 }) {
		t.Errorf("%d functions of the C library are offered, some of which are on no stack", len(r))
	} else {
		t.Logf("%d functions of the C library are on stacks", len(r))
	}
	if w, r := d.Weight(ranking, "cpu"), d.Weight(rank, "cpu"); math.Abs(w-r) > 0.05 || w > 1.0001 {
		t.Errorf("the item is on %.3f of the stacks, its outermost function on %.3f", w, r)
	}
	if w := d.Weight(parsing, "cpu"); w > 0.1 {
		t.Errorf("parsing is on %.3f of the stacks", w)
	}
	detachClean(t, d, p.PID)
}

// awaitWeight waits until stack samples give a focus a share.
func awaitWeight(t *testing.T, d *Daemon, f grid.Focus, kind string, want float64) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		w := d.Weight(f, kind)
		if w >= want {
			t.Logf("%v is on %.2f of the %s stacks", f, w, kind)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v is on %.3f of the %s stacks, want %.2f", f, w, kind, want)
		}
	}
}

// enableTogether enables pairs in one batch, again where the machine is too busy for a stop.
func enableTogether(t *testing.T, d *Daemon, sink grid.Sink, keys ...grid.PairKey) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		var err error
		for _, r := range d.Enable(keys, sink) {
			err = errors.Join(err, r.Err)
		}
		if err == nil {
			return
		}
		if !errors.As(err, new(grid.ErrDeferred)) || time.Now().After(end) {
			t.Fatal(err)
		}
		d.Disable(keys)
	}
}

// TestItemGrows: a library that is loaded later belongs to the item from then on, and what was counted before goes on being counted, once.
func TestItemGrows(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "testdata/targets/plugin.c", "-shared", "-fPIC")
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/late.c"), plugin, filepath.Join(t.TempDir(), "out"))
	d := attachWith(t, `hierarchy Part { item "all" is { "/Code/late.c/step", "/Code/plugin.c/plugin_work" }; }`, p.PID)
	var s sums
	calls, busy := itemKey("procedure_calls", "Part", "all"), itemKey("exec_time_inclusive", "Part", "all")
	enableTogether(t, d, &s, calls, busy)
	p.Say(t, "go")
	time.Sleep(200 * time.Millisecond)
	p.Say(t, "load")
	p.Expect(t, "LOADED", 10*time.Second)
	awaitGrowth(t, d, calls, busy)
	p.Say(t, "call")
	time.Sleep(300 * time.Millisecond)
	d.Settle()
	p.Say(t, "rest")
	p.Expect(t, "DONE", 20*time.Second)
	d.Disable([]grid.PairKey{calls, busy})
	c := p.Counts()
	t.Logf("%.0f calls counted, the program made %d and %d; %.4f s", s.of(calls), c["step"], c["plugin_work"], s.of(busy))
	if got := uint64(s.of(calls)); got != c["step"]+c["plugin_work"] || c["step"] == 0 || c["plugin_work"] == 0 {
		t.Errorf("%d calls counted, the program made %d", got, c["step"]+c["plugin_work"])
	}
	if s.of(busy) <= 0 {
		t.Error("no time was spent in the item")
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestItemOfFilesGrows: a file that is seen later belongs to the item from then on; the code for it goes to functions that have some
// already.
func TestItemOfFilesGrows(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/late.c"), "none", file)
	d := attachWith(t, fmt.Sprintf(`hierarchy Store { item "own" is { "/IO/File/%s", "/IO/File/%s.other" }; }`, file, file), p.PID)
	see := func(name string) { // as if it had been open
		d.lockAll()
		defer d.unlockAll()
		d.targets[0].Files.Learn(kernel.FD{Kind: kernel.FDFile, Name: name}, d.Now())
	}
	var s sums
	item, single := itemKey("io_ops", "Store", "own"), key(t, "io_ops", "/IO/File/"+file)
	if r := d.Enable([]grid.PairKey{item}, &s); !errors.As(r[0].Err, new(grid.ErrRefused)) {
		t.Errorf("files that nobody has seen: %v", r[0].Err)
	}
	see(file + ".other")
	enableTogether(t, d, &s, item)
	p.Say(t, "open")
	p.Expect(t, "OPENED", 10*time.Second)
	awaitGrowth(t, d, item)
	enableTogether(t, d, &s, single)
	p.Say(t, "write")
	time.Sleep(200 * time.Millisecond)
	p.Say(t, "rest")
	p.Expect(t, "DONE", 20*time.Second)
	d.Disable([]grid.PairKey{item, single})
	puts := p.Counts()["put"]
	t.Logf("%.0f operations on the item, %.0f on the file, the program made %d", s.of(item), s.of(single), puts)
	if uint64(s.of(item)) != puts || uint64(s.of(single)) != puts || puts == 0 {
		t.Errorf("%.0f operations on the item, %.0f on the file, the program made %d", s.of(item), s.of(single), puts)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestItemGrowsInAnotherProcess: a process that gets what the item stands for later than another is counted from then on.
func TestItemGrowsInAnotherProcess(t *testing.T) {
	t.Parallel()
	plugin := testprog.Build(t, "testdata/targets/plugin.c", "-shared", "-fPIC")
	bin := testprog.Build(t, "daemon/testdata/late.c")
	one, two := testprog.StartTarget(t, bin, plugin, "unused"), testprog.StartTarget(t, bin, plugin, "unused")
	one.Say(t, "load")
	one.Expect(t, "LOADED", 10*time.Second)
	d := attachWith(t, `hierarchy Part { item "plugin" is { "/Code/plugin.c" }; }`, one.PID, two.PID)
	var s sums
	calls := itemKey("procedure_calls", "Part", "plugin")
	enableTogether(t, d, &s, calls)
	parts := func() int {
		d.lockAll()
		defer d.unlockAll()
		return len(d.pairs[calls].parts)
	}
	if n := parts(); n != 1 {
		t.Fatalf("%d processes are measured, of which one has the library", n)
	}
	two.Say(t, "load")
	two.Expect(t, "LOADED", 10*time.Second)
	for end := time.Now().Add(20 * time.Second); parts() < 2; time.Sleep(20 * time.Millisecond) {
		d.discover()
		d.inserter.grow()
		if time.Now().After(end) {
			t.Fatal("the second process is not measured")
		}
	}
	var made, steps uint64
	for _, p := range []*testprog.Prog{one, two} {
		p.Say(t, "call")
		time.Sleep(100 * time.Millisecond)
		p.Say(t, "rest")
		p.Expect(t, "DONE", 20*time.Second)
		made += p.Counts()["plugin_work"]
		steps += p.Counts()["step"]
	}
	d.Disable([]grid.PairKey{calls})
	if got := uint64(s.of(calls)); got != 101*made || made == 0 || steps != 0 { // plugin_work calls plugin_step a hundred times
		t.Errorf("%d calls in the library counted, the programs called it %d times", got, made)
	}
	t.Logf("%.0f calls in two processes, of %d calls of the library", s.of(calls), made)
	for _, p := range []*testprog.Prog{one, two} {
		p.Stop(t)
	}
}

// awaitGrowth waits until nothing of an item is missing in any pair.
func awaitGrowth(t *testing.T, d *Daemon, keys ...grid.PairKey) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		d.discover()
		d.inserter.grow()
		d.lockAll()
		lacking := 0
		for _, k := range keys {
			for _, pt := range d.pairs[k].parts {
				if lacking += pt.Lacking; pt.Unfinished {
					lacking++
				}
			}
		}
		d.unlockAll()
		if lacking == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d resources are still missing", lacking)
		}
	}
}
