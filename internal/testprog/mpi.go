package testprog

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
)

// An MPIJob is a program that mpirun has started, one process a rank, on this machine only. The program is told what to do by
// files: see testdata/targets/mpi.c.
type MPIJob struct {
	*Prog       // of mpirun, which passes on what all ranks say
	PIDs  []int // of the ranks
	dir   string
}

// StartMPI builds a target of testdata/targets that uses MPI and starts it with as many ranks; it waits until all are ready.
// It skips the test if there is no MPI. Messages go through shared memory. Functions are bound when the program starts: what the
// loader does in a first call is in no function of MPI.
func StartMPI(t testing.TB, name string, ranks int, args ...string) *MPIJob {
	t.Helper()
	j, cmd := PrepareMPI(t, name, ranks, args...)
	j.Prog = StartCmd(t, cmd)
	j.Meet(t)
	return j
}

// PrepareMPI is StartMPI without the start: the command is to be started by the caller, who sets the job's Prog, and Meet waits for
// the ranks.
func PrepareMPI(t testing.TB, name string, ranks int, args ...string) (*MPIJob, *exec.Cmd) {
	t.Helper()
	require.Tool(t, "mpicc")
	mpirun := require.Tool(t, "mpirun")
	flags := append(append([]string{}, DefaultFlags...), "-Wall", "-Wextra", "-Wl,-z,now", "-I", filepath.Join(Root(t), "testdata", "targets"))
	bin := cached(t, Target(t, name), "mpicc", flags)
	j := &MPIJob{dir: t.TempDir(), PIDs: make([]int, ranks)}
	all := append([]string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader", "--mca", "mpi_yield_when_idle", "1",
		"--mca", "oob_tcp_if_include", "lo", "-np", strconv.Itoa(ranks), bin, j.dir}, args...)
	cmd := exec.Command(mpirun, all...)
	cmd.Env = append(os.Environ(), "TMPDIR="+shortDir(t))
	return j, cmd
}

// Meet waits until all ranks are ready.
func (j *MPIJob) Meet(t testing.TB) {
	t.Helper()
	for range j.PIDs {
		j.Expect(t, "RANK", 30*time.Second)
	}
	for _, line := range j.Lines() {
		var rank, pid int
		if n, _ := fmt.Sscanf(line, "RANK%d %d", &rank, &pid); n == 2 && rank >= 0 && rank < len(j.PIDs) {
			j.PIDs[rank] = pid
		}
	}
}

// shortDir is a directory for mpirun's sockets, whose names must be short; it is removed when the test ends.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mpi")
	if err != nil {
		t.Fatalf("testprog: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Tell creates the file that the ranks wait for.
func (j *MPIJob) Tell(t testing.TB, word string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, word), nil, 0o600); err != nil {
		t.Fatalf("testprog: %v", err)
	}
}

// ExpectAll waits for a line "WORD<rank>" of every rank.
func (j *MPIJob) ExpectAll(t testing.TB, word string, timeout time.Duration) {
	t.Helper()
	for range j.PIDs {
		j.Expect(t, word, timeout)
	}
}

// End tells the ranks to stop and fails the test unless all end as they should.
func (j *MPIJob) End(t testing.TB) {
	t.Helper()
	j.Tell(t, "stop")
	code := j.Wait(t, 30*time.Second)
	said := strings.Join(j.Lines(), "\n") + "\n"
	for rank := range j.PIDs {
		if !strings.Contains(said, fmt.Sprintf("END%d\n", rank)) {
			t.Errorf("testprog: rank %d did not come to its end%s", rank, j.story())
		}
	}
	if code != ExitOK || !strings.Contains(said, "\nOK ") {
		t.Errorf("testprog: mpirun ended with status %d%s", code, j.story())
	}
}
