package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// A job is what the tests read of a job of MPI in a report.
type job struct {
	Ranks []struct {
		Rank, PID  int
		Collective float64
	}
	Function         string
	Waiting, Awaited []int
	Sentence         string
}

// searchJob searches in mpirun and all that it has started while the ranks work, and returns what is said of their job.
func searchJob(t *testing.T, ranks int, slow string, length time.Duration) (job, map[string]uint64) {
	t.Helper()
	require.Root(t)
	j := testprog.StartMPI(t, "slowrank.c", ranks, slow)
	j.Tell(t, "go")
	s := start(t, "attach", "--no-tui", "--for", length.String(), "--json", "@REPORT", fmt.Sprint(j.PID))
	s.status()
	r := s.read()
	t.Log("\n" + s.out.String())
	j.End(t)
	for _, pid := range j.PIDs {
		if !slices.ContainsFunc(r.Targets, func(p process) bool { return p.PID == pid }) {
			t.Errorf("process %d of the job is not among the targets", pid)
		}
	}
	if len(r.Jobs) != 1 || len(r.Jobs[0].Ranks) != ranks {
		t.Fatalf("jobs %+v", r.Jobs)
	}
	return r.Jobs[0], j.Counts()
}

// TestSlowRank: one rank has more to do than the others, who wait for it in a reduction: the report says for whom and where, and how
// long each is there as the ranks themselves have it.
func TestSlowRank(t *testing.T) {
	const slow, ranks = 2, 4
	length := 5 * time.Second
	if long() {
		length = 30 * time.Second
	}
	j, counts := searchJob(t, ranks, fmt.Sprint(slow), length)
	t.Log(j.Sentence)
	if !slices.Equal(j.Awaited, []int{slow}) || !slices.Equal(j.Waiting, []int{0, 1, 3}) {
		t.Errorf("%v wait for %v", j.Waiting, j.Awaited)
	}
	if j.Function != "MPI_Allreduce" {
		t.Errorf("in %q", j.Function)
	}
	for _, r := range j.Ranks {
		share := float64(counts[fmt.Sprintf("reduce_ns%d", r.Rank)]) / float64(counts[fmt.Sprintf("worked_ns%d", r.Rank)])
		t.Logf("rank %d: %.1f %% of its time in collective operations, by its own account %.1f %%", r.Rank, 100*r.Collective, 100*share)
		if math.Abs(r.Collective-share) > 0.08 { // not the same span
			t.Errorf("rank %d: %.3f, its own account %.3f", r.Rank, r.Collective, share)
		}
	}
}

// TestRanksInTurn: when each rank is late in turn nobody is blamed.
func TestRanksInTurn(t *testing.T) {
	j, _ := searchJob(t, 3, "-1", 4*time.Second)
	t.Log(j.Sentence)
	if len(j.Waiting) != 0 || len(j.Awaited) != 0 {
		t.Errorf("%v wait for %v: %s", j.Waiting, j.Awaited, j.Sentence)
	}
}
