package daemon

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

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

// TestRanksThatStartLater: a shell that is measured starts mpirun: its ranks are measured from their first moments on, and what was
// asked for of all processes covers them, though the library of MPI is not there when they begin.
func TestRanksThatStartLater(t *testing.T) {
	t.Parallel()
	const ranks = 2
	j, mpirun := testprog.PrepareMPI(t, "slowrank.c", ranks, "1")
	cmd := exec.Command("sh", append([]string{"-c", `read line; "$@" </dev/null & wait $!`, "sh"}, mpirun.Args...)...)
	cmd.Env = mpirun.Env
	j.Prog = testprog.StartCmd(t, cmd)
	time.Sleep(300 * time.Millisecond) // until the shell has begun
	d := attachTree(t, nil, j.PID)
	var s sums
	cpu := key(t, "cpu", "/")
	d.mustEnable(t, &s, cpu)
	j.Say(t, "go")
	j.Meet(t)
	found := map[int]int{}
	for deadline := time.Now().Add(20 * time.Second); len(found) < ranks && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, i := range d.Targets() {
			if i.Rank != nil && !i.Ended {
				found[i.Rank.Number] = i.PID
			}
		}
	}
	for rank, pid := range j.PIDs {
		if found[rank] != pid {
			t.Errorf("rank %d is process %d, found was %d", rank, pid, found[rank])
		}
	}
	before, collective := s.of(cpu), key(t, "mpi_collective_ops", "/")
	d.mustEnable(t, &s, collective)
	j.Tell(t, "go")
	time.Sleep(500 * time.Millisecond)
	d.tickAll()
	if s.of(collective) < 10 || s.of(cpu) <= before {
		t.Errorf("%v collective operations, %v more seconds of processor time", s.of(collective), s.of(cpu)-before)
	}
	t.Logf("%d processes, ranks %v, %v collective operations", len(d.Targets()), found, s.of(collective))
	detachTree(t, d)
	j.End(t)
}
