package pcl_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/compile"
	"culprit/pcl/internal/cases"
	pcllib "culprit/pcl/lib"
	"culprit/pcl/syntax"
)

// TestDefault: the default library is sound, written in the canonical layout, and has what the search needs.
func TestDefault(t *testing.T) {
	lib := cases.Load(t)
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
		io_wait io_wait_inclusive io_ops io_bytes active_threads run_queue_wait ready_after_wait number_of_cpus allowed_cpus observed_cost pause_time blocked
		cpu_user cpu_system active_processes resident_memory open_descriptors switches_voluntary switches_forced page_faults_minor page_faults_major lock_hold
		allocations alloc_bytes msgs msg_bytes_sent msg_bytes_recv msg_size predicted_cost sampling_rate probes dropped
		io_size io_latency fsync_time opens alloc_size mmap_bytes mapping_ops`) {
		m, ok := lib.Metric(name)
		if !ok {
			t.Errorf("no metric %s", name)
		}
		if len(m.Doc) < 60 || m.Units == "" {
			t.Errorf("%s: no docstring or no unit: %+v", name, m)
		}
		if _, err := compile.Plan(lib, name, grid.Whole(), cases.NewTarget()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ofWhole := []string{"SystemTimeHigh", "SchedulingDelay", "ShortLivedProcesses", "InstrumentationCost"} // the kernel does not tell more; what is below them does
	var names []string
	for _, h := range lib.Hypotheses() {
		if h.Parent != "" && !slices.Contains(names, h.Parent) {
			t.Errorf("%s comes before its parent", h.Name)
		}
		names = append(names, h.Name)
		if h.Explain == "" || h.Label == "" || len(h.Refine) == 0 && h.At == "" && !slices.Contains(ofWhole, h.Name) {
			t.Errorf("%s is not complete", h.Name)
		}
		if h.Name == "InstrumentationCost" && !strings.HasSuffix(h.Label, " now") { // beside it stands the overhead of the whole session
			t.Errorf("the label does not say of when it is: %q", h.Label)
		}
	}
	if got := strings.Join(names, " "); got != "CPUbound SystemTimeHigh SystemCallTimeHigh PageFaultTimeHigh FrequentMappingOps SchedulingDelay ControlGroupLimit ShortLivedProcesses ExcessiveSyncWaitingTime HotSyncObject FrequentSyncOperations LoadImbalance ExcessiveIOBlockingTime FrequentSmallIOOps TooManySmallIOOps ExcessiveFlushTime TooManyMajorFaults MajorFaultTimeHigh InstrumentationCost" {
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
	texts := func(l *pcl.List) (out []string) {
		for _, v := range l.Items {
			out = append(out, v.String())
		}
		return out
	}
	for whole, suffix := range map[string]string{"sync_funcs": "_waits", "lock_takes": "_takes"} {
		var all, parts []string
		for _, l := range cases.Load(t).Lists() {
			switch {
			case l.Name == whole:
				all = texts(l)
			case strings.HasSuffix(l.Name, suffix):
				parts = append(parts, texts(l)...)
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
	lib := cases.Load(t)
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
	lib, env := cases.Load(t), cases.NewTarget()
	env.FlavorNames = append(env.FlavorNames, "mpi")
	env.Funcs = append(env.Funcs, cases.NewFunction(50, "libmpi.so.40", []string{"MPI_Send", "PMPI_Send"}, nil), cases.NewFunction(51, "libmpi.so.40", []string{"MPI_Barrier"}, nil))
	tag := grid.Whole().Refine(grid.SyncObject, "Message", "world", "7")
	for metric, requests := range map[string]int{"mpi_p2p_time": 2, "mpi_msgs_sent": 1, "mpi_collective_time": 2, "mpi_collective_ops": 1} {
		plan, err := compile.Plan(lib, metric, grid.Whole(), env)
		if err != nil || len(plan.Requests) != requests {
			t.Errorf("%s: %v %v", metric, plan, err)
		}
		var refused *pcl.NoConstraint
		plan, err = compile.Plan(lib, metric, tag, env)
		if of := strings.Contains(metric, "collective"); of != errors.As(err, &refused) || !of && !strings.Contains(plan.String(), "($arg[4] == 7) && ($arg[5] == 91)") {
			t.Errorf("%s for one tag: %v %v", metric, plan, err)
		}
		if _, err = compile.Plan(lib, metric, grid.Whole(), cases.NewTarget()); err == nil {
			t.Errorf("%s without MPI: no error", metric)
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "rewrite the files of testdata and the library of lib in its canonical layout")

// TestDefaultHasNoWarnings: what comes with the program is an example to others.
func TestDefaultHasNoWarnings(t *testing.T) {
	for _, p := range check.Warnings(cases.Load(t), cases.Kept) {
		t.Errorf("%s", p.Detail())
	}
}
