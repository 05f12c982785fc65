// Package harm tries to hurt targets by measuring them. Each scenario is one way in which a target was once hurt, or was used
// against the machine: an odd program of testdata/odd, what culprit is asked to do to it, and how harm is told. It holds tests only.
//
// Each scenario has a control, the same round without culprit: what goes wrong there too is not our doing. Culprit is known by its
// command line only, so that the same scenarios run against the binary of an earlier commit (-before), for a table of rates.
package harm

//test:alone

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var (
	before    = flag.String("before", "", "path of an earlier culprit: TestTable compares it with this one")
	rounds    = flag.Int("rounds", 0, "rounds of each scenario; 0 means as many as the scenario says")
	longRuns  = flag.Bool("long", false, "twenty times as many rounds")
	now       string // path of the culprit that is tested
	allCanSee string // a directory in which any user may read and execute
)

// A scenario is one way to hurt a target.
type scenario struct {
	row    int    // of the table of findings in docs/safety.md
	name   string // of the test
	rounds int    // with culprit, in an ordinary test run
	// run starts a target and, unless it is a control, does to it what hurts. It returns what harm was done, "" if none, and
	// fails the test only where nothing can be told.
	run func(r *round) (harm string)
}

// scenarios are all of them, by row. The rounds are those of an ordinary test run.
var scenarios = []scenario{
	{1, "goroutines", 1, goroutines},
	{1, "goroutines-in-a-library", 1, goroutinesLoaded},
	{1, "cgo-timers", 1, cgoTimers},
	{2, "contexts-preempted", 1, preempted("library")},
	{2, "contexts-preempted-by-hand", 1, preempted("hand")},
	{2, "contexts-and-kill", 1, preemptedAndKilled},
	{2, "coroutines", 1, coroutines},
	{3, "descriptors-swapped", 1, fdswap},
	{4, "child-writes-code", 1, childWrites("code")},
	{4, "child-writes-counters", 1, childWrites("counters")},
	{5, "filter-poll", 1, attachTo("filtered.c", nil, "poll", "kill", "before")},
	{5, "filter-nanosleep", 1, attachTo("filtered.c", nil, "nanosleep", "thread", "before")},
	{5, "filter-futex", 1, attachTo("filtered.c", nil, "futex", "kill", "before")},
	{5, "filter-trap", 1, attachTo("filtered.c", nil, "poll", "trap", "before")},
	{5, "filter-trace", 1, attachTo("filtered.c", nil, "poll", "trace", "before")},
	{5, "filter-late", 1, attachTo("filtered.c", nil, "poll", "kill", "late")},
	{6, "all-memory-locked", 1, locksAll},
	{6, "little-address-space", 1, limitedSpace("space")},
	{6, "tight-address-space", 1, limitedSpace("tight")},
	{6, "little-memory-in-the-group", 1, littleGroup},
	{6, "few-mappings", 1, fewMappings},
	{7, "text-remapped", 1, remapped(false, "over")},
	{7, "text-remapped-and-kill", 1, remapped(true, "over")},
	{7, "text-copied", 1, remapped(false, "copy", "over")},
	{7, "text-copied-and-kill", 1, remapped(true, "copy", "over")},
	{7, "text-page-dropped", 1, watching(4*time.Second, "procedure_calls@/Code/pagedrop.c/edge", "pagedrop.c", nil)},
	{8, "faults-recovered", 1, faulter()},
	{8, "faults-recovered-later", 1, faulter("late")},
	{9, "stacks-from-a-pool", 1, attachTo("pooled.c", nil, "map")},
	{9, "stacks-from-an-arena", 1, attachTo("pooled.c", nil, "arena")},
	{9, "stack-filled-late", 1, filledLate},
	{10, "io-uring-workers", 1, attachTo("uring.c", []string{"-luring"}, "work")},
	{10, "io-uring-poller", 1, attachTo("uring.c", []string{"-luring"}, "sqpoll")},
	{11, "kill-at-first-mapping", 1, killedAtFirstMapping},
	{12, "fake-head", 1, fakeHead},
	{12, "fake-ledger", 1, fakeLedger},
	{12, "sections-inflated", 1, elfBomb},
	{12, "sections-inflated-and-interrupt", 1, elfBombInterrupt},
	{12, "symbols-sparse", 1, sparseSymbols},
	{12, "names-long", 1, hostile("long names")},
	{12, "names-mangled", 1, hostile("mangled names")},
	{12, "line-directories", 1, hostile("directories")},
	{13, "memory-shared", 1, watching(3*time.Second, "procedure_calls@/Code/clonevm.c/*", "clonevm.c", nil, "6")},
	{13, "thread-pointer-zero", 1, watching(8*time.Second, "procedure_calls@/Code/fsbase.c/*", "fsbase.c", []string{"-fno-stack-protector"})},
	{13, "thread-pointer-zero-between-stops", 1, keyless},
	{14, "quit", 1, quit},
	{14, "two-signals", 1, twoSignals},
	{14, "few-descriptors", 1, fewDescriptors},
	{14, "doctor-after-kill", 1, killedDoctor},
	{14, "report-into-fifo", 1, fifoWithoutReader},
	{14, "messages-into-full-pipe", 1, fullPipe},
	{20, "memory-of-the-same-name", 1, sameName},
	{20, "culprit-that-measures", 1, measuresAnother},
	{21, "counter-forbidden", 1, forbidding("tsc")},
	{21, "counter-forbidden-late", 1, forbidding("tsc-late")},
	{21, "calls-dispatched", 2, forbidding("dispatch")},
	{21, "calls-dispatched-late", 1, forbidding("dispatch-late")},
	{21, "all-calls-dispatched", 2, forbidding("dispatch-all")},
	{22, "text-shared", 1, sharedText(false)},
	{22, "text-shared-late", 1, sharedText(true)},
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "culprit-harm")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	now, allCanSee = filepath.Join(dir, "culprit"), dir
	build := exec.Command("go", "build", "-o", now, "./cmd/culprit")
	build.Dir = "../.."
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ./cmd/culprit: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}

// TestNoHarm: nothing that hurts does so with culprit. Where something is hurt the control says whether it is without culprit, too.
func TestNoHarm(t *testing.T) {
	for _, s := range scenarios {
		t.Run(fmt.Sprintf("%d/%s", s.row, s.name), func(t *testing.T) {
			t.Parallel()
			for i := range s.count() {
				if harm := s.run(&round{T: t, culprit: now}); harm != "" {
					t.Fatalf("round %d: %s; without culprit: %q", i+1, harm, s.run(&round{T: t}))
				}
			}
		})
	}
}

func (s *scenario) count() int {
	n := s.rounds
	if *rounds > 0 {
		n = *rounds
	}
	if *longRuns {
		n *= 20
	}
	return n
}

// TestTable prints how often each scenario does harm without culprit, with uprobes on the same functions instead, with an earlier culprit
// (-before) and with this one. It never fails for harm.
func TestTable(t *testing.T) {
	if *before == "" {
		t.Skip("compares two binaries: -args -before PATH; scripts/harm-table does it")
	}
	fmt.Println("| row | scenario | control | uprobes | before | now | how, the first time |\n|---|---|---|---|---|---|---|")
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			control, _ := s.rate(t, "")
			others, _ := s.rate(t, uprobes)
			was, how := s.rate(t, *before)
			is, still := s.rate(t, now)
			if still != "" {
				how = "NOW: " + still
			}
			fmt.Printf("| %d | %s | %s | %s | %s | %s | %.120s |\n", s.row, s.name, control, others, was, is, how)
		})
	}
}

// ofCulprit reports whether the scenario is about what only culprit has (its signals, files, descriptors and timers): nothing to ask uprobes for.
func (s *scenario) ofCulprit() bool {
	return s.row == 14 || s.row == 20 || slices.Contains([]string{"sections-inflated-and-interrupt", "cgo-timers"}, s.name)
}

// rate runs all rounds against one culprit.
func (s *scenario) rate(t *testing.T, culprit string) (rate, first string) {
	if culprit == uprobes && s.ofCulprit() {
		return "-", ""
	}
	harmed := 0
	for range s.count() {
		r := &round{T: t, culprit: culprit}
		if harm := s.run(r); harm != "" {
			if harmed++; first == "" {
				first = harm
			}
		}
		if r.incomparable {
			return "-", ""
		}
	}
	return fmt.Sprintf("%d of %d", harmed, s.count()), first
}
