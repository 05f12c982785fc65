package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// started builds and starts a program of testdata/culprits.
func started(t *testing.T, name string, flags ...string) *testprog.Prog {
	t.Helper()
	p := testprog.Start(t, testprog.Build(t, filepath.Join("testdata", "culprits", name), flags...))
	p.Expect(t, "ready", 10*time.Second)
	return p
}

// TestReasons: that there is one lock for all, that threads pass on each little thing, that one has more work than the others, and that the
// measurement itself takes the time is told along with where it is, with what to do about it.
func TestReasons(t *testing.T) {
	require.Root(t)
	for _, c := range []struct {
		program    string
		flags      []string
		hypothesis string
		waits      []string // places, one of which the search finds threads to wait at, and ends
		place      string   // of the finding that has the reason
		said       string
	}{
		{"handover.c", nil, "FrequentSyncOperations", []string{"/slot_changed", "/take_record", "/put_record"}, "", " us on average: threads wait often, each time for a moment."},
		{"lateworker.c", nil, "LoadImbalance", []string{"/step_done"}, "barrier step_done", " of their time at barriers for the one that comes last."},
		{"lateomp.c", []string{"-fopenmp"}, "LoadImbalance", []string{""}, "Threads wait ", " of their time at barriers for the one that comes last."},
	} {
		t.Run(c.program, func(t *testing.T) {
			p := started(t, c.program, c.flags...)
			r := searchFor(t, []finding{{c.hypothesis, []string{""}}, {"ExcessiveSyncWaitingTime", c.waits}}, fmt.Sprint(p.PID))
			r.tells(t, c.hypothesis, c.place, c.said)
		})
	}
	t.Run("mutex.c", func(t *testing.T) {
		p := target(t, "mutex.c")
		r := searchFor(t, []finding{{"HotSyncObject", []string{"/SyncObject/Mutex/cache_lock"}}, {"ExcessiveSyncWaitingTime", []string{"/Code/mutex.c/lookup"}}}, fmt.Sprint(p.PID))
		r.tells(t, "HotSyncObject", "lookup (", "Mutex cache_lock alone takes ")
		undisturbed(t, p, "mutex.c")
	})
}

// TestInTurn: of threads that wait for one which waits itself, the one is told that works: their waits are notes, which that finding explains.
func TestInTurn(t *testing.T) {
	require.Root(t)
	p := started(t, "shards.c")
	s := start(t, "attach", "--no-tui", "--for", "6s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(statusBottleneck)
	r := s.read()
	if len(r.Bottlenecks) != 1 || !strings.HasPrefix(r.Bottlenecks[0].Sentence, "search_shard ") || !strings.Contains(r.Bottlenecks[0].Sentence, "Others wait meanwhile for thread shard-2 (") {
		t.Errorf("not only the one that works is told:\n%s", r.sentences())
	}
	if !slices.ContainsFunc(r.Notes, func(b bottleneck) bool {
		return strings.Contains(b.Sentence, "in next_query") && b.ExplainedBy == r.Bottlenecks[0].Node
	}) {
		t.Errorf("the waits of the others are not explained: %+v", r.Notes)
	}
}

// tells fails the test unless a bottleneck says why as a hypothesis does, and advises what it advises.
func (r *report) tells(t *testing.T, hypothesis, place, said string) {
	t.Helper()
	advice := adviceOf(t, hypothesis)
	if !slices.ContainsFunc(r.Bottlenecks, func(b bottleneck) bool {
		return strings.Contains(b.Sentence, place) && strings.Contains(b.Sentence, said) && b.Advice == advice
	}) {
		t.Errorf("no bottleneck at %q says %q and advises %q:\n%s", place, said, advice, r.sentences())
	}
}

// adviceOf is what a hypothesis advises.
func adviceOf(t *testing.T, hypothesis string) string {
	t.Helper()
	_, advice, _ := strings.Cut(start(t, "explain", hypothesis).want(0).out.String(), "  advice    ")
	return strings.TrimSpace(advice)
}

// TestEvenWork: who meets at a barrier with as much work as the others has no reason to be told of.
func TestEvenWork(t *testing.T) {
	require.Root(t)
	p := started(t, "evenbarrier.c")
	r := search(t, 8*time.Second, statusBottleneck, p.PID)
	r.mustFind(t, "CPUbound", "simulate_cells (")
	for _, n := range r.Nodes {
		if n.State == "true" && (n.Hypothesis == "LoadImbalance" || n.Hypothesis == "FrequentSyncOperations" || n.Hypothesis == "HotSyncObject") {
			t.Errorf("%s is true", n.Hypothesis)
		}
	}
	if len(r.Bottlenecks) != 1 {
		t.Errorf("more was found: %s", r.sentences())
	}
}

// TestInstrumentationCost: what is watched is measured at any price, and the answer says what it takes; the search alone stays within the budget.
func TestInstrumentationCost(t *testing.T) {
	require.Root(t)
	for name, watch := range map[string]string{"watched": "procedure_calls@/Code/calls.c/*", "unwatched": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			costOfProbes(t, watch)
		})
	}
}

// costOfProbes fails the test unless what probes take is told as a finding where they take much.
func costOfProbes(t *testing.T, watch string) {
	t.Helper()
	p := target(t, "calls.c", "2000000000", "1")
	p.Say(t, "go")
	args := []string{"attach", "--no-tui", "--for", "8s", "-e", `tunable_constant "PC_InstrumentationThreshold" 0.05;`, "--json", "@REPORT"}
	if watch != "" {
		args = append(args, "--budget", "80%", "--watch", watch)
	}
	s := start(t, append(args, fmt.Sprint(p.PID))...)
	s.status()
	r := s.read()
	found := slices.ContainsFunc(r.Bottlenecks, func(b bottleneck) bool { return strings.HasPrefix(b.Sentence, "The probes of this measurement take ") })
	if want := watch != ""; found != want {
		t.Errorf("watched %q: told %v, want %v; %g observed\n%s", watch, found, want, r.Overhead.Observed, s.story())
	}
}
