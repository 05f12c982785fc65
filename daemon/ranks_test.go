package daemon

import (
	"strconv"
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

func TestRankInEnvironment(t *testing.T) {
	for text, want := range map[string]Rank{
		"A=1\x00OMPI_COMM_WORLD_RANK=3\x00PMIX_NAMESPACE=42@1\x00": {"42@1", 3},
		"PMI_RANK=0\x00PMI_JOBID=x":                                {"x", 0},
		"PMIX_RANK=7":                                              {"", 7},
	} {
		if got, ok := rankIn(text); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_RANK=-1", "OMPI_COMM_WORLD_RANK=1x", "XOMPI_COMM_WORLD_RANK=1", "\x00\x00=\x00"} {
		if got, ok := rankIn(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestRanks: attaching to mpirun finds the ranks that it has started, each with its number, and they are labelled with it.
func TestRanks(t *testing.T) {
	const ranks = 3
	j := testprog.StartMPI(t, "slowrank.c", ranks, "1")
	d := attachTree(t, nil, j.PID)
	found := map[int]int{}
	jobs := map[string]bool{}
	for _, i := range d.Targets() {
		if i.Rank != nil {
			found[i.Rank.Number] = i.PID
			jobs[i.Rank.Job] = true
			if name := "slowrank{" + itoa(i.PID) + "}"; d.Tree().Label(grid.Process, name) != "rank "+itoa(i.Rank.Number) {
				t.Errorf("%s is called %q", name, d.Tree().Label(grid.Process, name))
			}
		}
	}
	t.Logf("%d processes, ranks %v", len(d.Targets()), found)
	for rank, pid := range j.PIDs {
		if found[rank] != pid {
			t.Errorf("rank %d is process %d, not %d", rank, found[rank], pid)
		}
	}
	if len(found) != ranks || len(jobs) != 1 {
		t.Errorf("%d ranks of %d jobs", len(found), len(jobs))
	}
	detachTree(t, d)
	j.Tell(t, "go")
	j.End(t)
}

func itoa(n int) string { return strconv.Itoa(n) }
