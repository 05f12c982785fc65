package process

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"culprit/internal/procfs"
	"culprit/internal/safetext"
)

// ThreadState is the state letter of a thread in /proc, 'X' when it no longer exists.
func ThreadState(pid, tid int) byte {
	st, err := procfs.ReadThreadStat(pid, tid)
	if err != nil {
		return 'X'
	}
	return st.State
}

// A taskStatus holds the lines of /proc/PID/status that are used.
type taskStatus struct {
	state                          byte
	tgid, tracer, threads, seccomp int
	inner                          int    // its number in its own namespace
	uids, gids                     [4]int // real, effective, saved, filesystem
	capEff                         uint64
}

func parseStatus(b []byte) taskStatus {
	var s taskStatus
	for line := range strings.SplitSeq(string(b), "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			s.state = (value + "?")[0]
		case "Tgid":
			s.tgid = atoi(value)
		case "NStgid":
			s.inner = atoi(value[strings.LastIndexAny(value, " \t")+1:])
		case "TracerPid":
			s.tracer = atoi(value)
		case "Threads":
			s.threads = atoi(value)
		case "Seccomp":
			s.seccomp = atoi(value)
		case "Uid":
			s.uids = fourInts(value)
		case "Gid":
			s.gids = fourInts(value)
		case "CapEff":
			s.capEff = hex(value)
		}
	}
	return s
}

// readStatus reads /proc/PID/status, or that of a thread when tid is not 0.
func readStatus(pid, tid int) (taskStatus, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	if tid != 0 {
		path = fmt.Sprintf("/proc/%d/task/%d/status", pid, tid)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return taskStatus{}, err
	}
	return parseStatus(b), nil
}

// isWorker says whether a task of a process is the kernel's: it never comes to where a thread stops for us.
func isWorker(pid, tid int) bool {
	st, err := procfs.ReadThreadStat(pid, tid)
	return err == nil && st.IsWorker()
}

// listThreads gives the ids of the threads that run code of the process, in increasing order.
func listThreads(pid int) ([]int, error) {
	tids, err := listTasks(pid)
	return slices.DeleteFunc(tids, func(tid int) bool { return tid != pid && isWorker(pid, tid) }), err
}

// listTasks gives the ids of all tasks of a process in increasing order, the kernel's workers among them.
func listTasks(pid int) ([]int, error) {
	d, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	tids := make([]int, 0, len(names))
	for _, n := range names {
		if tid := atoi(n); tid > 0 {
			tids = append(tids, tid)
		}
	}
	sort.Ints(tids)
	return tids, nil
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func hex(s string) uint64 {
	n, _ := strconv.ParseUint(s, 16, 64)
	return n
}

func fourInts(s string) (out [4]int) {
	for i, f := range strings.Fields(s) {
		if i < len(out) {
			out[i] = atoi(f)
		}
	}
	return out
}

// clean makes a name that the target chose fit to be shown.
func clean(s string) string { return safetext.CleanMax(s, 64) }
