package target

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"culprit/grid"
)

// The ranks of a job of MPI. What starts a job tells each of its processes by the environment which one it is.

// maxEnvironment bounds what is read of a process's environment.
const maxEnvironment = 1 << 20

// rankNames are the variables that hold the rank, and those that name the job: Open MPI (its own and PMIx), and MPICH and its kin (PMI).
var (
	rankNames = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}
	jobNames  = []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "PMI_FD"}
)

// readRank reads which rank a process is, from the environment with which it was started. ok is false if it is none.
func readRank(pid int) (r grid.Rank, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(text) > maxEnvironment {
		return grid.Rank{}, false
	}
	return rankIn(string(text))
}

// rankIn reads a rank from an environment, whose variables end in NUL.
func rankIn(environment string) (grid.Rank, bool) {
	values := map[string]string{}
	for _, v := range strings.Split(environment, "\x00") {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	number := first(values, rankNames)
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return grid.Rank{}, false
	}
	return grid.Rank{Job: first(values, jobNames), Number: n}, true
}

func first(values map[string]string, names []string) string {
	for _, n := range names {
		if v := values[n]; v != "" {
			return v
		}
	}
	return ""
}

// FindRank notes which rank the target is, if it uses MPI: what starts a rank has its environment, too.
func (t *Target) FindRank() {
	if t.Rank != nil {
		return
	}
	r, ok := readRank(t.Proc.PID())
	if !ok || !t.UsesMPI() {
		return
	}
	t.Rank = &r
	t.Tree.SetLabel(fmt.Sprintf("rank %d", r.Number), grid.Process, t.Name)
}
