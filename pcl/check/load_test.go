package check_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

// TestUnitOfValues: times are told in seconds, what is added in the metric's own unit.
func TestUnitOfValues(t *testing.T) {
	for _, c := range []struct{ units, kind, want string }{
		{`"s/s"`, "histogram(wallTimer)", "s"}, {"CPUs", "histogram(processTimer)", "s"}, {"B", "histogram(counter)", "B"},
		{`"B/s"`, "histogram(counter)", "B"}, {"B", "counter", ""}, {`"s/s"`, "wallTimer", ""},
	} {
		lib, problems, err := check.Load(check.Options{Texts: []string{`metric m { name "m"; units ` + c.units + `; aggregateOperator sum; style EventCounter; base is ` + c.kind + ` { } }`}})
		if err != nil || len(problems) > 0 {
			t.Errorf("%v: %v %v", c, err, problems)
			continue
		}
		if m, _ := lib.Metric("m"); m.Values != c.want {
			t.Errorf("%s in %s: values in %q, want %q", c.kind, c.units, m.Values, c.want)
		}
	}
	if doc := cases.Load(t, `metric m { name "m"; `+cases.Head+` base is histogram(processTimer) { } }`).Doc(); !strings.Contains(doc, "Counted by: histogram(processTimer).") {
		t.Error("the reference does not say that the metric has a distribution")
	}
}

func TestHierarchyProblems(t *testing.T) {
	for _, tt := range cases.HierarchyProblems {
		_, problems, err := check.Load(check.Options{Texts: []string{tt.Text}})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Msg, tt.Want) {
			t.Errorf("%s:\ngot  %v, %v\nwant %s", tt.Text, problems, err, tt.Want)
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
	lib := cases.Load(t, sb.String())
	f := grid.Whole().WithItem("Array", "A4999")
	it, err := lib.Item(f)
	if err != nil || len(lib.Items("Array")) != items || len(it.Foci) != 3 || it.Focus() != f {
		t.Fatalf("got %d items, %+v, %v", len(lib.Items("Array")), it, err)
	}
	t.Logf("%d items in %d KiB", items, sb.Len()>>10)
}

// TestHypothesisAlongItems: a hypothesis names defined hierarchies beside fixed ones, and the reference shows them.
func TestHypothesisAlongItems(t *testing.T) {
	lib := cases.Load(t, cases.Subsystems, `hypothesis Busy { test cpu_inclusive > 0.5; refine { Code, Subsystem, Layer }; suppress { "/Subsystem/gone" }; }`)
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

// TestProblems: what is wrong is said with its place, and the rest is there.
func TestProblems(t *testing.T) {
	for _, c := range cases.Problems() {
		t.Run(c.Name, func(t *testing.T) {
			lib, problems, err := check.Load(check.Options{Texts: []string{c.Text + ` tunable_constant "after" 1;`}})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), c.Want) {
				t.Fatalf("got %v, want one problem with %q", problems, c.Want)
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
	file := write("named.txt", `metric mine { name "cpu"; `+cases.Head+` base is counter { } } metric observedCost { name "observed_cost"; }`)
	lib, problems, err := check.Load(check.Options{UserDir: dir, Files: []string{file}, Texts: []string{`tunable_constant "PC_SyncThreshold" 0.5;`}})
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
	if m, _ := lib.Metric("cpu"); m.Units != "x" || len(lib.Definition("cpu").Constraints) != 0 {
		t.Errorf("cpu was not replaced: %+v", m)
	}
	for _, bad := range []string{filepath.Join(dir, "none.pcl"), dir} {
		if _, _, err := check.Load(check.Options{Files: []string{bad}}); err == nil || !strings.Contains(err.Error(), "cannot read the PCL file") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	empty, problems, err := check.Load(check.Options{NoDefault: true, UserDir: filepath.Join(dir, "none")})
	if err != nil || len(problems) > 0 || len(empty.Metrics()) != 0 {
		t.Errorf("NoDefault: %v %v %v", empty.Metrics(), problems, err)
	}
}

func TestConstraintsOfMetric(t *testing.T) {
	var got []string
	for _, c := range cases.Load(t).Definition("cpu").Constraints {
		got = append(got, c.Ident+" "+c.PathText()+" "+c.How())
	}
	want := []string{"cpuOfModule /Code replace", "cpuOfProcedure /Code/* replace"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestHypothesisOrder: children may stand before their parents; a circle is left out with what hangs on it.
func TestHypothesisOrder(t *testing.T) {
	const tail = ` test 1 > 0; }`
	lib, problems, err := check.Load(check.Options{NoDefault: true, Texts: []string{`hypothesis c { parent b;` + tail + ` hypothesis x { parent y;` + tail +
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
	lib := cases.Load(t)
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

func TestHypotheses(t *testing.T) {
	lib := cases.Load(t)
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
		{"busy machine", "CPUbound", values{"cpu_inclusive": 0.4, "cpu": 0.4, "run_queue_wait": 0.6, "active_threads": 1, "number_of_cpus": 4}, 1, true},
		{"very busy machine", "CPUbound", values{"cpu_inclusive": 0.25, "cpu": 0.25, "run_queue_wait": 0.75, "active_threads": 1, "number_of_cpus": 4}, 0.75, true},
		{"hardly runs", "CPUbound", values{"cpu_inclusive": 0.0625, "cpu": 0.0625, "run_queue_wait": 0.9375, "active_threads": 1, "number_of_cpus": 4}, 0.1875, false},
		{"waits for a processor", "SchedulingDelay", values{"cpu": 0.05, "run_queue_wait": 0.95, "active_threads": 1, "number_of_cpus": 4, "allowed_cpus": 4}, 0.95, true},
		{"limited", "SchedulingDelay", values{"cpu": 0.25, "run_queue_wait": 0.75, "active_threads": 1, "number_of_cpus": 0.25, "allowed_cpus": 2}, 0.75, true},
		{"fills its CPUs", "SchedulingDelay", values{"cpu": 2, "run_queue_wait": 6, "active_threads": 8, "number_of_cpus": 2, "allowed_cpus": 2}, 0.75, false},
		{"at its limit", "ControlGroupLimit", values{"cpu": 0.25, "run_queue_wait": 0.75, "active_threads": 1, "number_of_cpus": 0.25, "allowed_cpus": 2}, 1, true},
		{"far beyond its limit", "ControlGroupLimit", values{"cpu": 0.25, "run_queue_wait": 7.75, "active_threads": 8, "number_of_cpus": 0.25, "allowed_cpus": 2}, 2, true},
		{"below its limit", "ControlGroupLimit", values{"cpu": 0.5, "run_queue_wait": 1, "active_threads": 1, "number_of_cpus": 1, "allowed_cpus": 2}, 1.5, false},
		{"without a limit", "ControlGroupLimit", values{"cpu": 1.75, "run_queue_wait": 6, "active_threads": 8, "number_of_cpus": 2, "allowed_cpus": 2}, 2, false},
		{"more threads than processors", "CPUbound", values{"cpu_inclusive": 2, "cpu": 2, "run_queue_wait": 6, "active_threads": 8, "number_of_cpus": 2}, 1, true},
		{"no thread active", "CPUbound", values{"cpu_inclusive": 0.125, "cpu": 0.125, "number_of_cpus": 4}, 0.125, false},
		{"no figure", "CPUbound", values{"cpu_inclusive": math.NaN(), "cpu": 1, "active_threads": 1, "number_of_cpus": 4}, math.NaN(), false},
		{"spinning is not blocked", "ExcessiveSyncWaitingTime", values{"sync_wait_inclusive": 3, "held_up": 0.2, "active_threads": 4}, 0.05, false},
		{"waiting", "ExcessiveSyncWaitingTime", values{"sync_wait_inclusive": 3, "held_up": 3.2, "active_threads": 4}, 0.75, true},
		{"waiting for disk", "ExcessiveIOBlockingTime", values{"io_wait_inclusive": 1, "blocked": 1, "active_threads": 2}, 0.5, true},
		{"small", "FrequentSmallIOOps", values{"io_bytes": 6400000, "io_ops": 100000}, 64, true},
		{"large", "FrequentSmallIOOps", values{"io_bytes": 819200000, "io_ops": 100000}, 8192, false},
		{"few", "FrequentSmallIOOps", values{"io_bytes": 64000, "io_ops": 1000}, 64, false},
		{"few that block", "TooManySmallIOOps", values{"io_bytes": 64000, "io_ops": 1000}, 64, true},
		{"too few that block", "TooManySmallIOOps", values{"io_bytes": 6400, "io_ops": 100}, 64, false},
		{"pages from a disk", "TooManyMajorFaults", values{"page_faults_major": 201}, 201, true},
		{"few pages from a disk", "TooManyMajorFaults", values{"page_faults_major": 200}, 200, false},
		{"none", "FrequentSmallIOOps", values{}, 0, false},
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
	if !slices.Equal(h.Metrics, []string{"cpu_inclusive", "cpu", "run_queue_wait", "number_of_cpus", "active_threads", "ready_after_wait"}) || !slices.Equal(h.Global, h.Metrics[1:]) {
		t.Errorf("CPUbound reads %v, globally %v", h.Metrics, h.Global)
	}
	if !lib.SetTunable("PC_CPUThreshold", 0.6) || lib.SetTunable("none", 1) || h.Threshold(nil) != 0.6 {
		t.Error("SetTunable has no effect")
	}
}

func hypothesis(t *testing.T, lib *pcl.Library, name string) *pcl.Hypothesis {
	t.Helper()
	for _, h := range lib.Hypotheses() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no hypothesis %s", name)
	return nil
}

// TestHypothesisKept: it is known of which hypotheses a test at the whole program needs no probe.
func TestHypothesisKept(t *testing.T) {
	lib := cases.Load(t, `metric mine { name "mine"; units calls; style EventCounter; aggregateOperator sum; base is counter { foreach f in $procedures append preInsn f.entry (* mine++; *) } }
hypothesis OfKernel { test cpu > 0.5; } hypothesis OfBoth { test mine > 10; given cpu > 0.1; }`)
	for _, h := range lib.Hypotheses() {
		switch want := h.Name == "OfKernel" || h.Name == "CPUbound"; h.Name {
		case "OfKernel", "OfBoth", "CPUbound", "ExcessiveIOBlockingTime":
			if h.Kept != want {
				t.Errorf("%s: kept %t", h.Name, h.Kept)
			}
		}
	}
}
