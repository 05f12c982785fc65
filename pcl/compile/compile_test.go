package compile

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

func TestCompile(t *testing.T) {
	for _, c := range cases.Plans {
		t.Run(c.Name, func(t *testing.T) {
			if c.Want == "problem" {
				if _, problems, _ := check.Load(check.Options{Texts: []string{c.Text}}); len(problems) == 0 {
					t.Error("no problem")
				}
				return
			}
			metric, focus := cases.Pair(t, c.Pair)
			lib := cases.Load(t, c.Text)
			plan, err := Plan(lib, metric, focus, cases.NewTarget())
			if !strings.HasPrefix(c.Want, "\n") {
				if err == nil || !strings.Contains(err.Error(), c.Want) {
					t.Errorf("got error %v, want %q", err, c.Want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want[1:], plan.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := Plan(cases.Load(t, c.Text), metric, focus, cases.NewTarget())
			if err != nil || cmp.Diff(plan, again, cmp.Comparer(func(a, b grid.Focus) bool { return a == b })) != "" {
				t.Errorf("compiling again gives another plan or %v", err)
			}
			if err := lib.Check(metric, focus); err != nil {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

// TestErrorTypes: callers tell errors apart by type.
func TestErrorTypes(t *testing.T) {
	lib := cases.Load(t, `metric m { name "m"; `+cases.Head+` base is hwTimer("c") { } }`)
	_, err := Plan(lib, "m", grid.Whole(), cases.NewTarget())
	var u *pcl.Unsupported
	var gu grid.ErrUnsupported
	if !errors.As(err, &u) || !errors.As(err, &gu) || u.Pos.Line != 1 {
		t.Errorf("hwTimer: %v", err)
	}
	_, err = Plan(lib, "active_threads", grid.Whole().Refine(grid.IO, "File"), cases.NewTarget())
	var n *pcl.NoConstraint
	if !errors.As(err, &n) || n.Hierarchy != grid.IO || n.Metric != "active_threads" {
		t.Errorf("no constraint: %v", err)
	}
	_, err = Plan(lib, "x", grid.Whole(), cases.NewTarget())
	var gm grid.ErrUnknownMetric
	if !errors.As(err, &gm) || gm.Name != "x" {
		t.Errorf("unknown metric: %v", err)
	}
}

// TestConformance: the conformance text loads without a problem on top of the default library and compiles, but for
// the metric that calls a function of the target.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile("../testdata/conformance.pcl")
	if err != nil {
		t.Fatal(err)
	}
	lib := cases.Load(t, string(text))
	env := cases.NewTarget()
	env.FlavorNames = append(env.FlavorNames, "mpi")
	env.Funcs = append(env.Funcs, cases.NewFunction(50, "libmpi.so", []string{"MPI_Send"}, nil), cases.NewFunction(51, "libmpi.so", []string{"MPI_Type_size"}, nil))
	plan, err := Plan(lib, "cpu", grid.Whole(), env)
	if err != nil {
		t.Fatal(err)
	}
	want := `cpu@/: processTimer
  processTimer cpuExclusive
  append preInsn 1.entry { timerStart cpuExclusive }
  prepend preInsn 1.return { timerStop cpuExclusive }
  append preInsn 40.entry { timerStop cpuExclusive }
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("cpu (-want +got):\n%s", diff)
	}
	if lib.Excluded("LIBfoo.so.1", "") == false || lib.Excluded("foo", "") {
		t.Error("the exclude statement does not do what it says")
	}
	if v, ok := lib.Tunable("costLimit"); !ok || v != 1.5 {
		t.Errorf("costLimit is %v", v)
	}
	plan, err = Plan(lib, "msg_bytes_sent", grid.Whole().Refine(grid.SyncObject, "Message", "world", "7"), env)
	if err != nil {
		t.Fatal(err)
	}
	want = `msg_bytes_sent@/SyncObject/Message/world/7: counter
  counter msgBytesSent
  counter bytes
  counter tagConstraint
  prepend preInsn 50.entry { if ($arg[4] == 7) enter tagConstraint }
  append preInsn 50.return { leave tagConstraint }
  append preInsn 50.entry if tagConstraint { call 51($arg[2], &bytes); msgBytesSent += bytes * $arg[1] }
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("msg_bytes_sent (-want +got):\n%s", diff)
	}
}

// TestAdditions: the text with everything new loads; what this version cannot do is refused with its type.
func TestAdditions(t *testing.T) {
	text, err := os.ReadFile("../testdata/additions.pcl")
	if err != nil {
		t.Fatal(err)
	}
	lib := cases.Load(t, string(text))
	for _, name := range []string{"test_cycles"} {
		if _, err := Plan(lib, name, grid.Whole(), cases.NewTarget()); !isUnsupported(err) {
			t.Errorf("%s: got %v, want *Unsupported", name, err)
		}
	}
	if err := lib.CompileTrace("lockEvents"); !isUnsupported(err) {
		t.Errorf("trace: got %v, want *Unsupported", err)
	}
	names := lib.Defined()
	if len(names) != 1 {
		t.Fatalf("hierarchies: %v", names)
	}
	if items := lib.Items(names[0]); len(items) != 2 || items[0].Foci[1].String() != "/Code/lex.c/next_token" {
		t.Errorf("items of %s: %v", names[0], items)
	}
	x := lib.Expects()[0]
	get := func(string) float64 { return 0.05 }
	if len(x.Of) != 3 || x.Of[0].Hypothesis != "OffCPU" || !x.Of[0].Not || !x.Of[1].Holds(get) || x.Of[1].Metrics[0] != "test_off_cpu" {
		t.Errorf("expect: %+v", x)
	}
}

func BenchmarkCompile(b *testing.B) {
	lib, env := cases.Load(b), cases.NewTarget()
	focus := grid.Whole().Refine(grid.Code, "work.c", "work").Refine(grid.SyncObject, "Mutex", "cache_lock")
	for b.Loop() {
		if _, err := Plan(lib, "sync_wait_inclusive", focus, env); err != nil {
			b.Fatal(err)
		}
	}
}

func isUnsupported(err error) bool {
	var u *pcl.Unsupported
	return errors.As(err, &u)
}
