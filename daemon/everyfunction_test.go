package daemon

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/trampoline/planner"
)

// gdbWork makes a debugger in C++ look into a program and throw exceptions, again and again.
func gdbWork(program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "file %s\n", program)
	for range 5 {
		b.WriteString("info functions distance\nptype struct point\ndisassemble main\nprint 1/0\nprint nothing_here\ninfo line main\n" +
			"list main\nprint sizeof(struct point) * 3 + 7 % 4\nx/5i main\ninfo scope main\nprint \"a\" \"b\"\nhelp step\n")
	}
	b.WriteString(`echo \nDONE\n`)
	return b.String()
}

// TestEveryFunctionOfGDB counts at every function of a large program in C++, at its entry and all its exits, while it works:
// what it prints is what it prints undisturbed.
func TestEveryFunctionOfGDB(t *testing.T) {
	t.Parallel()
	require.Root(t)
	text := gdbWork(testprog.Build(t, "testdata/targets/cpu.c", "-O0"))
	start := func() *testprog.Prog {
		cmd := exec.Command(require.Tool(t, "gdb"), "-q", "-nx", "-nh", "-iex", "set confirm off", "-iex", "set width 0", "-iex", "set height 0", "-ex", `echo \nREADY\n`)
		cmd.Env = append(cmd.Environ(), "TERM=dumb", "DEBUGINFOD_URLS=")
		return testprog.StartCmd(t, cmd)
	}
	alone := work(t, start(), text, func(*testprog.Prog) {})
	watched := work(t, start(), text, func(p *testprog.Prog) { instrumentAll(t, p.PID, "gdb", 0.99) })
	if alone != watched {
		t.Errorf("it printed %s, undisturbed %s", watched, alone)
	}
}

// work starts a program, does f, gives the program its work and returns a hash of all that it printed.
func work(t *testing.T, p *testprog.Prog, text string, f func(*testprog.Prog)) string {
	t.Helper()
	p.Expect(t, "READY", 20*time.Second)
	f(p)
	p.Say(t, text)
	p.Expect(t, "DONE", 2*time.Minute)
	lines := strings.Join(p.Lines(), "\n")
	p.Say(t, "quit")
	if status := p.Wait(t, 20*time.Second); status != 0 {
		t.Errorf("it ended with %d", status)
	}
	return fmt.Sprintf("%x of %d bytes", sha256.Sum256([]byte(lines)), len(lines))
}

// passages counts every entry and every exit.
const passages = `metric passages {
    name "passages"; units ops; unitsType unnormalized; aggregateOperator sum; style EventCounter;
    constraint passagesOfModule /Code is replace counter {
        foreach f in $constraint[0].funcs {
            append preInsn f.entry (* passages++; *)
            prepend preInsn f.return (* passages++; *)
        }
    }
    constraint passagesOfProcedure /Code/* is replace counter {
        append preInsn $constraint[0].entry (* passages++; *)
        prepend preInsn $constraint[0].return (* passages++; *)
    }
    base is counter { foreach f in $procedures append preInsn f.entry (* passages++; *) }
}`

// A watch is a process all of whose functions count their entries and exits.
type watch struct {
	pid  int
	d    *Daemon
	keys []grid.PairKey
	sums sums
}

// instrumentAll counts at every function of the executable, which is known as object, until the test ends; in the long form
// also at those of all libraries except the C library. least is the share of the executable's functions whose
// entry and exits must all be reached.
func instrumentAll(t *testing.T, pid int, object string, least float64) *watch {
	t.Helper()
	w := &watch{pid: pid, d: attachPassages(t, pid)}
	var functions []*program.Function
	functions, w.keys = functionsIn(w.d, object)
	start := time.Now()
	for _, r := range w.d.Enable(w.keys, &w.sums) {
		if r.Err != nil {
			t.Log(r.Key, r.Err)
		}
	}
	took := time.Since(start)
	ok, tactics := patchedOf(w.d, functions)
	points := 0
	for _, n := range tactics {
		points += n
	}
	t.Logf("%s: %d of %d functions count at %d entries and exits, in %v; sites %v; pauses %+v",
		object, ok, len(functions), points, took, tactics, w.d.Overhead().Pauses)
	if float64(ok) < least*float64(len(functions)) {
		t.Errorf("only %d of %d functions count", ok, len(functions))
	}
	return w
}

// counted gives out what was counted and fails the test if that is less than least: the work has not run through the probes.
func (w *watch) counted(t *testing.T, least float64) {
	t.Helper()
	w.d.Disable(w.keys)
	total := 0.0
	for _, k := range w.keys {
		total += w.sums.of(k)
	}
	t.Logf("%.0f entries and exits counted", total)
	if total < least {
		t.Errorf("%.0f entries and exits counted, %.0f at least are expected", total, least)
	}
}

// end is counted for a target that lives on: nothing is left behind in it.
func (w *watch) end(t *testing.T, least float64) {
	t.Helper()
	w.counted(t, least)
	detachClean(t, w.d, w.pid)
}

// maxPoints is how many entries and exits the long form instruments at once: the ledger has room for 131,072.
const maxPoints = 120_000

// functionsIn lists the functions of an object, and the pairs that count in its modules. The long form adds those of libraries.
func functionsIn(d *Daemon, object string) (functions []*program.Function, keys []grid.PairKey) {
	d.lockAll()
	defer d.unlockAll()
	tg := d.targets[0]
	listAll(tg)
	points, modules := map[string]int{}, map[string]map[string]bool{}
	for _, f := range tg.Known() {
		if f.Obj.Name != object && (!*long || libc.IsC(f.Obj.Name)) {
			continue
		}
		pl := tg.Plans.Made(f)
		if f.Obj.Name == object && !strings.Contains(pl.Reason(), "fragment") {
			functions = append(functions, f)
		}
		if modules[f.Obj.Name] == nil {
			modules[f.Obj.Name] = map[string]bool{}
		}
		modules[f.Obj.Name][f.Fn.Module] = true
		points[f.Obj.Name] += len(pl.Entry()) + len(pl.Exits())
	}
	for _, o := range thatFit(points, object) {
		for m := range modules[o] {
			keys = append(keys, grid.PairKey{Metric: "passages", Focus: grid.Whole().Refine(grid.Code, m)})
		}
	}
	return functions, keys
}

// thatFit is the object first and then others, those with the fewest points first, as far as the ledger reaches.
func thatFit(points map[string]int, object string) (fit []string) {
	sum := points[object]
	fit = append(fit, object)
	for _, o := range slices.SortedFunc(maps.Keys(points), func(a, b string) int { return points[a] - points[b] }) {
		if o == object {
			continue
		}
		if sum += points[o]; sum > maxPoints {
			break
		}
		fit = append(fit, o)
	}
	return fit
}

// patchedOf counts the functions whose entry and exits all lead into trampolines.
func patchedOf(d *Daemon, functions []*program.Function) (ok int, tactics map[planner.Tactic]int) {
	d.lockAll()
	defer d.unlockAll()
	tactics = map[planner.Tactic]int{}
	for _, f := range functions {
		pl := d.targets[0].Plans.Of(f)
		whole := pl.Plan() != nil
		for _, pt := range slices.Concat(pl.Entry(), pl.Exits()) {
			planned, _ := pl.Plan().SiteOf(pt)
			if planned == nil || f.Obj == nil || !d.targets[0].Text.IsPatched(planned) {
				whole = false
				continue
			}
			tactics[planned.Tactic]++
		}
		if whole {
			ok++
		}
	}
	return ok, tactics
}
