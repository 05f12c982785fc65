package pcl

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	pcllib "culprit/pcl/lib"
	"culprit/pcl/syntax"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the files of testdata and the library of lib in its canonical layout")

// TestDefault: the default library is sound, written in the canonical layout, and has what the search needs.
func TestDefault(t *testing.T) {
	lib := load(t)
	for _, f := range pcllib.Files() {
		tree, _ := syntax.Parse(f.Name, f.Text)
		printed := syntax.Print(tree)
		if printed == f.Text {
			continue
		}
		t.Errorf("%s is not in the canonical layout: run TestDefault with -rewrite", f.Name)
		if *rewrite {
			if err := os.WriteFile(f.Name, []byte(printed), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range strings.Fields(`procedure_calls exec_time exec_time_inclusive cpu cpu_inclusive sync_wait sync_wait_inclusive sync_ops
		io_wait io_wait_inclusive io_ops io_bytes active_threads run_queue_wait number_of_cpus observed_cost pause_time blocked
		cpu_user cpu_system active_processes switches_voluntary switches_forced page_faults_minor page_faults_major lock_hold
		allocations alloc_bytes msgs msg_bytes_sent msg_bytes_recv msg_size predicted_cost sampling_rate probes dropped
		io_size io_latency fsync_time opens alloc_size mmap_bytes mapping_ops`) {
		m, ok := lib.Metric(name)
		if !ok {
			t.Errorf("no metric %s", name)
		}
		if len(m.Doc) < 60 || m.Units == "" {
			t.Errorf("%s: no docstring or no unit: %+v", name, m)
		}
		if _, err := lib.Compile(name, grid.Whole(), newTarget()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var names []string
	for _, h := range lib.Hypotheses() {
		if h.Parent != "" && !slices.Contains(names, h.Parent) {
			t.Errorf("%s comes before its parent", h.Name)
		}
		names = append(names, h.Name)
		if h.Explain == "" || h.Label == "" || len(h.Refine) == 0 {
			t.Errorf("%s is not complete", h.Name)
		}
	}
	if got := strings.Join(names, " "); got != "CPUbound ExcessiveSyncWaitingTime ExcessiveIOBlockingTime FrequentSmallIOOps TooManySmallIOOps" {
		t.Errorf("hypotheses: %s", got)
	}
	for _, want := range []string{"### sync_wait", "### CPUbound", "| PC_CPUThreshold | 0.3 |", "procedureInclusive", "pthread_barrier_wait"} {
		if !strings.Contains(lib.Doc(), want) {
			t.Errorf("the reference lacks %q", want)
		}
	}
}

// TestSyncFuncs: the list of all waits, or of all that takes a lock, is the sum of the lists by type, or a type would be lost or
// counted alone.
func TestSyncFuncs(t *testing.T) {
	for whole, suffix := range map[string]string{"sync_funcs": "_waits", "lock_takes": "_takes"} {
		var all, parts []string
		for _, l := range load(t).Lists() {
			switch {
			case l.Name == whole:
				all = l.Items
			case strings.HasSuffix(l.Name, suffix):
				parts = append(parts, l.Items...)
			}
		}
		slices.Sort(all)
		slices.Sort(parts)
		if len(all) < 15 || !slices.Equal(all, parts) {
			t.Errorf("%s: %v\nby type: %v", whole, all, parts)
		}
	}
}

// TestDocstrings: every metric says what it counts and, where probes count it, what it does not see; its unit is in it.
func TestDocstrings(t *testing.T) {
	lib := load(t)
	n := 0
	for _, m := range lib.Metrics() {
		n++
		if len(m.Doc) < 60 || m.Units == "" || !strings.HasSuffix(m.Doc, ".") {
			t.Errorf("%s [%s]: %q", m.Name, m.Units, m.Doc)
		}
	}
	for _, name := range strings.Fields("sync_wait lock_hold io_wait io_size io_latency fsync_time opens mmap_bytes mapping_ops msgs msg_bytes_sent msg_bytes_recv allocations alloc_bytes mpi_p2p_time mpi_bytes_sent mpi_msgs_recv") {
		if m, _ := lib.Metric(name); !strings.Contains(m.Doc, "Not seen") {
			t.Errorf("%s does not say what it does not see: %q", name, m.Doc)
		}
	}
	t.Logf("%d metrics", n)
}

// TestMPIMetrics: a program with MPI has them, by communicator and tag where a function is told both; others are refused.
func TestMPIMetrics(t *testing.T) {
	lib, env := load(t), newTarget()
	env.flavors = append(env.flavors, "mpi")
	env.funcs = append(env.funcs, fakeFunc{50, "libmpi.so.40", []string{"MPI_Send", "PMPI_Send"}, nil}, fakeFunc{51, "libmpi.so.40", []string{"MPI_Barrier"}, nil})
	tag := grid.Whole().Refine(grid.SyncObject, "Message", "world", "7")
	for metric, requests := range map[string]int{"mpi_p2p_time": 2, "mpi_msgs_sent": 1, "mpi_collective_time": 2, "mpi_collective_ops": 1} {
		plan, err := lib.Compile(metric, grid.Whole(), env)
		if err != nil || len(plan.Requests) != requests {
			t.Errorf("%s: %v %v", metric, plan, err)
		}
		var refused *NoConstraint
		plan, err = lib.Compile(metric, tag, env)
		if of := strings.Contains(metric, "collective"); of != errors.As(err, &refused) || !of && !strings.Contains(plan.String(), "($arg[4] == 7) && ($arg[5] == 91)") {
			t.Errorf("%s for one tag: %v %v", metric, plan, err)
		}
		if _, err = lib.Compile(metric, grid.Whole(), newTarget()); err == nil {
			t.Errorf("%s without MPI: no error", metric)
		}
	}
}

func hypothesis(t *testing.T, lib *Library, name string) *Hypothesis {
	t.Helper()
	for _, h := range lib.Hypotheses() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no hypothesis %s", name)
	return nil
}

func TestHypotheses(t *testing.T) {
	lib := load(t)
	type values = map[string]float64
	for _, c := range []struct {
		name, hypothesis string
		v                values
		value            float64
		holds            bool
	}{
		{"one of four", "CPUbound", values{"cpu_inclusive": 1, "cpu": 4, "active_threads": 8, "number_of_cpus": 4}, 0.25, false},
		{"two of four", "CPUbound", values{"cpu_inclusive": 2, "cpu": 2, "active_threads": 8, "number_of_cpus": 4}, 0.5, true},
		{"one thread", "CPUbound", values{"cpu_inclusive": 0.9, "cpu": 0.9, "active_threads": 1, "number_of_cpus": 4}, 0.9, true},
		{"busy machine", "CPUbound", values{"cpu_inclusive": 0.25, "cpu": 0.25, "run_queue_wait": 0.75, "active_threads": 1, "number_of_cpus": 4}, 1, true},
		{"more threads than processors", "CPUbound", values{"cpu_inclusive": 2, "cpu": 2, "run_queue_wait": 6, "active_threads": 8, "number_of_cpus": 2}, 1, true},
		{"no thread active", "CPUbound", values{"cpu_inclusive": 0.125, "cpu": 0.125, "number_of_cpus": 4}, 0.125, false},
		{"no figure", "CPUbound", values{"cpu_inclusive": math.NaN(), "cpu": 1, "active_threads": 1, "number_of_cpus": 4}, math.NaN(), false},
		{"spinning is not blocked", "ExcessiveSyncWaitingTime", values{"sync_wait_inclusive": 3, "blocked": 0.2, "active_threads": 4}, 0.05, false},
		{"waiting", "ExcessiveSyncWaitingTime", values{"sync_wait_inclusive": 3, "blocked": 3.2, "active_threads": 4}, 0.75, true},
		{"waiting for disk", "ExcessiveIOBlockingTime", values{"io_wait_inclusive": 1, "blocked": 1, "active_threads": 2}, 0.5, true},
		{"small", "FrequentSmallIOOps", values{"io_bytes": 6400000, "io_ops": 100000}, 64, true},
		{"large", "FrequentSmallIOOps", values{"io_bytes": 819200000, "io_ops": 100000}, 8192, false},
		{"few", "FrequentSmallIOOps", values{"io_bytes": 64000, "io_ops": 1000}, 4096, false},
		{"few that block", "TooManySmallIOOps", values{"io_bytes": 64000, "io_ops": 1000}, 64, true},
		{"too few that block", "TooManySmallIOOps", values{"io_bytes": 6400, "io_ops": 100}, 4096, false},
		{"none", "FrequentSmallIOOps", values{}, 4096, false},
		{"empty", "FrequentSmallIOOps", values{"io_ops": 100000}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hypothesis(t, lib, c.hypothesis)
			get := func(m string) float64 {
				if !slices.Contains(h.Metrics, m) {
					t.Errorf("reads %s, which it does not declare", m)
				}
				return c.v[m]
			}
			if v := h.Value(get); v != c.value && !(math.IsNaN(v) && math.IsNaN(c.value)) {
				t.Errorf("value %v, want %v", v, c.value)
			}
			if got := h.Holds(get); got != c.holds {
				t.Errorf("holds: %v, want %v", got, c.holds)
			}
		})
	}
	h := hypothesis(t, lib, "CPUbound")
	if !slices.Equal(h.Metrics, []string{"cpu_inclusive", "cpu", "run_queue_wait", "number_of_cpus", "active_threads"}) || !slices.Equal(h.Global, h.Metrics[1:]) {
		t.Errorf("CPUbound reads %v, globally %v", h.Metrics, h.Global)
	}
	if !lib.SetTunable("PC_CPUThreshold", 0.6) || lib.SetTunable("none", 1) || h.Threshold(nil) != 0.6 {
		t.Error("SetTunable has no effect")
	}
}

// A problemCase is a text with one thing wrong and a part of what is said of it.
type problemCase struct{ name, pcl, want string }

func problemCases() []problemCase {
	const m = `metric m { name "m"; ` + head
	return []problemCase{
		{"flag by a counter", `constraint c /Code is counter by x { append preInsn $constraint[0].entry (* c = 1; *) }`, `found "by x", expected it in the base of a metric only`},
		{"replacement by a counter", m + `counter x; constraint c /Code is replace counter by x { } base is counter { } }`, `found "by x", expected it in the base of a metric only`},
		{"key that is a name", `constraint c /Code is key;`, "found a key for /Code, which is a module"},
		{"key of a file", `constraint c /IO/File is key;`, "found a key for /IO/File, expected a flag there"},
		{"event that is sampled", `metric m { name "m"; units c; unitsType sampled; aggregateOperator sum; style EventCounter; base is counter { } }`, "found unitsType sampled, expected unnormalized or normalized"},
		{"max in code", m + ` counter n; base is counter { append preInsn $start.entry (* n = $arg[0]; m = max(m, n); *) } }`, "put if (x > m) m = x;"},
		{"text to a call", m + ` base is counter { append preInsn $start.entry (* m += weigh("x"); *) } }`, "no text can be given"},
		{"text to printf", m + ` base is counter { append preInsn $start.entry (* m++; printf("x"); *) } }`, "no text can be given"},
		{"constrained by nothing", m + ` base is counter { append preInsn $start.entry constrained (* m++; *) } }`, "found constrained in a metric without a constraint"},
		{"call of a word", m + ` base is counter { append preInsn $start.entry (* m += counter(1); *) } }`, "which is a word of the language"},
		{"call of a list", m + ` base is counter { append preInsn $start.entry (* m += sync_funcs(1); *) } }`, "which is no function here"},
		{"undeclared counter", m + ` base is counter { append preInsn $start.entry (* seen = 1; *) } }`, "declare it in the metric: counter seen;"},
		{"undeclared counter that is read", m + ` base is counter { append preInsn $start.entry (* m += seen; *) } }`, "declare it in the metric: counter seen;"},
		{"this", m + ` base is counter { append preInsn $start.entry (* m += this->size; *) } }`, "expected $arg.this"},
		{"template", m + ` base is counter { append preInsn $start.entry (* m += size<int>(1); *) } }`, `found the template size<int>, expected $function("size<int>")`},
		{"operator", m + ` base is counter { append preInsn $start.entry (* m += operator+(1); *) } }`, `such as $function("operator+")`},
		{"function without its name", m + ` base is counter { append preInsn $function.entry (* m++; *) } }`, "found $function without its arguments"},
		{"key that is a type", `constraint c /SyncObject is key;`, "found a key for /SyncObject, which is a string"},
		{"key without a counter", m + `constraint oneLock /SyncObject/Mutex is key; base is counter { append preInsn $start.entry (* m++; *) } }`, `expected "base is counter by" a counter`},
		{"by what is no counter", m + `base is counter by m { append preInsn $start.entry (* m++; *) } }`, `found "by m", expected a counter of the metric`},
		{"nothing by a counter", m + `counter x; base is void by x { append preInsn $start.entry (* x = 1; *) } }`, "found a base of kind void with a key"},
		{"key as a value", m + `counter x; base is counter by x { append preInsn $start.entry (* x = $arg[0]; if (x == $arg[0]) m++; *) } }`, "found the value of x, that the base is keyed by"},
		{"sampled by a counter", `metric m { name "m"; units x; aggregateOperator max; style EventCounter; counter x; base is counter by x { append preInsn $start.entry (* m++; *) } }`,
			"found style EventCounter and aggregateOperator max, expected EventCounter and sum"},
		{"gauge that grows", m + `base is gauge { } }`, "found a gauge and the style EventCounter, expected style SampledFunction"},
		{"address of a gauge", `metric m { name "m"; ` + gaugeHead + `base is gauge { append preInsn $start.entry (* f(&m); *) } }`, "found the address of the gauge m"},
		{"missing items", `metric m { base is counter { } }`, "metric m: expected the item name, units, style, aggregateOperator, which is missing"},
		{"twice", m + ` name "n"; base is counter { } }`, `found "name" a second time`},
		{"word", `metric m { name "m"; units x; aggregateOperator summ; style EventCounter; base is counter { } }`, `(did you mean "sum"?)`},
		{"parked", m + ` parked left; base is counter { } }`, "expected parked excluded or counted"},
		{"name", `metric m { name "a@b"; units x; aggregateOperator sum; style EventCounter; base is counter { } }`, "expected one without blanks"},
		{"unknown constraint", m + ` constraint procedureInclusiv; base is counter { } }`, `found the unknown constraint "procedureInclusiv" (did you mean "procedureInclusive"?)`},
		{"two replacements", m + ` constraint a /Code/* is replace counter { } constraint b /Code/x is replace counter { } base is counter { } }`, "found a and b, which replace the base at the same focus"},
		{"constraint twice", m + ` constraint oneMutex; constraint oneMutex; base is counter { } }`, `the constraint "oneMutex" a second time`},
		{"counter twice", m + ` counter m; base is counter { } }`, `the counter "m" a second time`},
		{"counter as constraint", m + ` counter oneMutex; constraint oneMutex; base is counter { } }`, "expected different names"},
		{"postInsn at return", m + ` base is counter { append postInsn $start.return (* m++; *) } }`, "found postInsn at .return, expected preInsn"},
		{"argument at return", m + ` base is counter { append preInsn $start.return (* m += $arg[0]; *) } }`, "found $arg, expected it in preInsn code at an .entry only"},
		{"argument at a call", m + ` base is counter { append preInsn $start.calls (* m += $arg[0]; *) } }`, "found $arg"},
		{"argument behind", m + ` base is counter { append postInsn $start.entry (* m += $arg[0]; *) } }`, "found $arg"},
		{"argument outside", m + ` base is counter { if ($arg[0] == 1) append preInsn $start.entry (* m++; *) } }`, "found $arg"},
		{"return at entry", m + ` base is counter { append preInsn $start.entry (* m += $return; *) } }`, "expected it in code at a .return only"},
		{"negative index", m + ` base is counter { append preInsn $start.entry (* m += $arg[-1]; *) } }`, "found the index -1"},
		{"constraint in a base", m + ` base is counter { append preInsn $constraint[0].entry (* m++; *) } }`, "found $constraint in a base"},
		{"constraint index", `constraint c /Code is counter { append preInsn $constraint[1].entry (* c = 1; *) }`, "found $constraint[1], expected at most [0]"},
		{"unknown name", m + ` base is counter { foreach f in sync_func append preInsn f.entry (* m++; *) } }`, `the unknown name "sync_func" (did you mean "sync_funcs"?)`},
		{"unknown variable", m + ` counter bytes; base is counter { append preInsn $start.entry (* byts += 1; *) } }`, `(did you mean "bytes"?)`},
		{"unknown primitive", m + ` base is wallTimer { append preInsn $start.entry (* startWallTimr(m); *) } }`, `(did you mean "startWallTimer"?)`},
		{"kind of timer", m + ` base is wallTimer { append preInsn $start.entry (* startProcessTimer(m); *) } }`, "found startProcessTimer for a base of kind wallTimer"},
		{"argument of timer", m + ` base is wallTimer { append preInsn $start.entry (* startWallTimer(n); *) } }`, "expected startWallTimer(m)"},
		{"timer as value", m + ` counter n; base is wallTimer { append preInsn $start.entry (* n = startWallTimer(m); *) } }`, "it has no value"},
		{"timer in a flag", `constraint c /Code is counter { append preInsn $start.entry (* startWallTimer(c); *) }`, "in a flag constraint"},
		{"assigned timer", m + ` base is wallTimer { append preInsn $start.entry (* m = 1; *) } }`, "found an assignment to the timer m"},
		{"no effect", m + ` base is counter { append preInsn $start.entry (* m + 1; *) } }`, "without an effect"},
		{"nested assignment", m + ` counter n; base is counter { append preInsn $start.entry (* m = n = 1; *) } }`, "found an assignment inside an expression"},
		{"fraction", m + ` base is counter { append preInsn $start.entry (* m += 1.5; *) } }`, "found a fraction, expected a whole number"},
		{"string in a sum", m + ` base is counter { append preInsn $start.entry (* m += 1 + "a"; *) } }`, `found a string on one side of "+"`},
		{"no point", m + ` base is counter { append preInsn $start (* m++; *) } }`, "found a function, expected a point"},
		{"no list", m + ` base is counter { foreach f in $machine append preInsn f.entry (* m++; *) } }`, "found a string, expected a list"},
		{"callee elsewhere", m + ` base is counter { append preInsn $start.entry (* m += $callee; *) } }`, "elsewhere nothing is being called"},
		{"loop variable", m + ` base is counter { foreach m in $procedures append preInsn m.entry (* m++; *) } }`, "expected a name that is not a variable of the metric"},
		{"field", m + ` base is counter { append preInsn $start.entri (* m++; *) } }`, `(did you mean "entry"?)`},
		{"field of a string", m + ` base is counter { append preInsn $machine.entry (* m++; *) } }`, "which has no fields"},
		{"variable outside of code", m + ` base is counter { if (m > 1) append preInsn $start.entry (* m++; *) } }`, "it has a value only while the target runs"},
		{"code below a kernel base", m + ` base is kernel("x") { append preInsn $start.entry (* m++; *) } }`, "expected none: the kernel counts by itself"},
		{"empty kernel", m + ` base is kernel(""); }`, "expected the name of a quantity"},
		{"hierarchy", `constraint c /Coed/* is default;`, `(did you mean "Code"?)`},
		{"level", `constraint c /SyncObject/RwLock is default;`, `(did you mean "RWLock"?)`},
		{"long path", `constraint c /Code/*/*/* is default;`, "expected at most 2 names below /Code"},
		{"replacement alone", `constraint c /Code is replace counter { }`, "inside of the metric whose base it replaces"},
		{"constraint without path", `constraint c;`, "expected the path that it matches"},
		{"list item", `resourceList l is int { items { "a" } }`, `found "a", expected an item of kind int`},
		{"list pattern", `resourceList l is string { items { glob "a" } }`, "only in lists of procedures and modules"},
		{"list regex", `resourceList l is procedure { items { regex "(" } }`, "a bad regular expression"},
		{"list without items", `resourceList l is procedure { flavor { any } }`, "expected the item items"},
		{"exclude", `exclude "Code/x";`, "expected /Code/module"},
		{"exclude regex", `exclude regex "(";`, "a bad regular expression"},
		{"test", `hypothesis h { test cpu; }`, `expected a comparison with "<" or ">"`},
		{"no test", `hypothesis h { }`, "expected the item test"},
		{"unknown metric", `hypothesis h { test cpu_inclusiv > 1; }`, `(did you mean "cpu_inclusive"?)`},
		{"unknown tunable", `hypothesis h { test cpu > PC_CPUThreshhold; }`, `(did you mean "PC_CPUThreshold"?)`},
		{"comparison inside", `hypothesis h { test (cpu > 1) + 1 > 1; }`, `found ">", expected + - * or /`},
		{"function", `hypothesis h { test avg(cpu) > 1; }`, `found a call of "avg", expected min or max`},
		{"quantile in a hypothesis", `hypothesis h { test p99(io_latency) > 1; }`, "found p99(io_latency) in a hypothesis, expected it in expect only"},
		{"quantile of what", `expect e { p99(io_latency + 1) > 1; }`, "expected p99(METRIC)"},
		{"quantile of nothing known", `expect e { p99(io_latenzy) > 1; }`, `(did you mean "io_latency"?)`},
		{"quantile of a sum", `expect e { p99(cpu) > 1; }`, "found p99 of cpu, expected it of a metric with a base of histogram(..)"},
		{"quantile at two foci", `expect e { io_latency@"/" + p99(io_latency) > 1; }`, "expected one of them in one test"},
		{"unknown quantile", `expect e { p98(io_latency) > 1; }`, `expected min, max, p50, p90, p95, p99, p999, mean or count (did you mean "p90"?)`},
		{"at most in a hypothesis", `hypothesis h { test cpu <= 1; }`, `found "<=", expected "<" or ">": a test holds for averages`},
		{"equal", `hypothesis h { test cpu == 1; }`, `found "==", expected "<" or ">": averages are never just a number`},
		{"two comparisons", `expect e { cpu > 1 && cpu < 2; }`, `found "&&", expected one comparison`},
		{"min of nothing", `hypothesis h { test min() > 1; }`, "expected at least one argument"},
		{"focus", `hypothesis h { test cpu@"/Code/x" > 1; }`, `expected "/"`},
		{"bad focus", `hypothesis h { test cpu@"x" > 1; }`, "found a bad focus"},
		{"two foci", `hypothesis h { test cpu@"/" + cpu > 1; }`, "expected one of them in one test"},
		{"two foci again", `hypothesis h { test cpu + cpu@"/" > 1; }`, "expected one of them in one test"},
		{"refine", `hypothesis h { test active_threads > 1; refine { Code } }`, "its metric active_threads has no constraint there"},
		{"refine what", `hypothesis h { test cpu > 1; refine { Coed } }`, `found the unknown hierarchy "Coed", expected one of Code`},
		{"suppress", `hypothesis h { test cpu > 1; suppress { "libc" } }`, "found a bad path"},
		{"expand", `hypothesis h { test cpu > 1; expand whyAndWere; }`, `(did you mean "whyAndWhere"?)`},
		{"label", `hypothesis h { test cpu > 1; label "{procent} of {function}"; }`, `(did you mean "percent"?)`},
		{"parent", `hypothesis h { parent CPUboun; test cpu > 1; }`, `which is not defined (did you mean "CPUbound"?)`},
		{"cycle", `hypothesis h { parent h; test cpu > 1; }`, "its own descendant"},
		{"expect", `expect e { CPUboun; }`, `the unknown hypothesis "CPUboun" (did you mean "CPUbound"?)`},
		{"trace", `trace t { at $start; record { 1 }; }`, "expected a point"},
		{"fixed hierarchy", `hierarchy Code { }`, "found the name of a fixed hierarchy"},
		{"record", `visi v { limit 3; }`, "expected the item command"},
	}
}

// TestProblems: what is wrong is said with its place, and the rest is there.
func TestProblems(t *testing.T) {
	for _, c := range problemCases() {
		t.Run(c.name, func(t *testing.T) {
			lib, problems, err := Load(Options{Texts: []string{c.pcl + ` tunable_constant "after" 1;`}})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), c.want) {
				t.Fatalf("got %v, want one problem with %q", problems, c.want)
			}
			if d := problems[0].Detail(); !strings.Contains(d, "-e[1]:1:") || !strings.HasSuffix(d, "^") {
				t.Errorf("no place or no caret: %s", d)
			}
			if _, ok := lib.Tunable("after"); !ok || len(lib.Metrics()) < 17 {
				t.Error("the rest was not loaded")
			}
		})
	}
}

// TestLayers: default library, user directory, files, texts; later ones win, and a bad one does not take the good one away.
func TestLayers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a.pcl", `tunable_constant { "PC_CPUThreshold" 0.1; "mine" true; }`)
	write("b.pcl", `tunable_constant "PC_CPUThreshold" 0.2;`)
	write("c.txt", `not PCL`)
	file := write("named.txt", `metric mine { name "cpu"; `+head+` base is counter { } } metric observedCost { name "observed_cost"; }`)
	lib, problems, err := Load(Options{UserDir: dir, Files: []string{file}, Texts: []string{`tunable_constant "PC_SyncThreshold" 0.5;`}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"PC_CPUThreshold": 0.2, "PC_SyncThreshold": 0.5, "mine": 1, "PC_IOThreshold": 0.2} {
		if v, ok := lib.Tunable(name); !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Msg, "the earlier definition is tried") {
		t.Errorf("problems: %v", problems)
	}
	if m, ok := lib.Metric("observed_cost"); !ok || m.Units != "fraction" {
		t.Error("a bad definition has taken the good one away")
	}
	if m, _ := lib.Metric("cpu"); m.Units != "x" || len(lib.Constraints("cpu")) != 0 {
		t.Errorf("cpu was not replaced: %+v", m)
	}
	for _, bad := range []string{filepath.Join(dir, "none.pcl"), dir} {
		if _, _, err := Load(Options{Files: []string{bad}}); err == nil || !strings.Contains(err.Error(), "cannot read the PCL file") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	empty, problems, err := Load(Options{NoDefault: true, UserDir: filepath.Join(dir, "none")})
	if err != nil || len(problems) > 0 || len(empty.Metrics()) != 0 {
		t.Errorf("NoDefault: %v %v %v", empty.Metrics(), problems, err)
	}
}

func TestConstraintsOfMetric(t *testing.T) {
	got := load(t).Constraints("cpu")
	want := []ConstraintInfo{{"cpuOfModule", "/Code", "replace"}, {"cpuOfProcedure", "/Code/*", "replace"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestHypothesisOrder: children may stand before their parents; a circle is left out with what hangs on it.
func TestHypothesisOrder(t *testing.T) {
	const tail = ` test 1 > 0; }`
	lib, problems, err := Load(Options{NoDefault: true, Texts: []string{`hypothesis c { parent b;` + tail + ` hypothesis x { parent y;` + tail +
		` hypothesis y { parent z;` + tail + ` hypothesis z { parent y;` + tail + ` hypothesis a {` + tail + ` hypothesis b { parent a;` + tail +
		` hypothesis d { parent top;` + tail}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range lib.Hypotheses() {
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "a b c d" || len(problems) != 3 {
		t.Errorf("order %q, problems %v", got, problems)
	}
}

// TestTunablesWhileReading: the search evaluates while a user changes constants.
func TestTunablesWhileReading(t *testing.T) {
	lib := load(t)
	h := hypothesis(t, lib, "CPUbound")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			lib.SetTunable("PC_CPUThreshold", 0.5)
		}
	}()
	for range 1000 {
		if v := h.Threshold(nil); v != 0.3 && v != 0.5 {
			t.Fatalf("threshold %v", v)
		}
	}
	<-done
}
