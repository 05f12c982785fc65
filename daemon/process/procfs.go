package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"culprit/internal/safetext"
)

// A taskStat is what is used of /proc/PID/stat.
type taskStat struct {
	comm  string
	state byte
	flags uint64
	start uint64 // clock ticks since boot

	threads int // of the process
}

// parseStat reads one stat line. The name in parentheses may itself hold parentheses and spaces, so it is cut at the last ')'.
func parseStat(b []byte) (taskStat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return taskStat{}, fmt.Errorf("stat line without a name")
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return taskStat{}, fmt.Errorf("stat line with %d fields", len(f))
	}
	flags, err1 := strconv.ParseUint(f[6], 10, 64)
	start, err2 := strconv.ParseUint(f[19], 10, 64)
	threads := atoi(f[17])
	if err1 != nil || err2 != nil {
		return taskStat{}, fmt.Errorf("stat line with bad numbers")
	}
	return taskStat{comm: clean(string(b[open+1 : end])), state: f[0][0], flags: flags, start: start, threads: threads}, nil
}

// readStat reads the stat line of a process, or of one of its threads when tid is not 0.
func readStat(pid, tid int) (taskStat, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	if tid != 0 {
		path = fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return taskStat{}, err
	}
	return parseStat(b)
}

// ThreadState is the state letter of a thread in /proc, 'X' when it no longer exists.
func ThreadState(pid, tid int) byte {
	st, err := readStat(pid, tid)
	if err != nil {
		return 'X'
	}
	return st.state
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

// workerFlags are those of tasks that run in the kernel on behalf of a process (PF_IO_WORKER, PF_USER_WORKER of linux/sched.h): of
// io_uring and vhost. They are listed with its threads but never come back to user mode, where a thread stops for us as we need it.
const workerFlags = 0x10 | 0x4000

// isWorker says whether a task of a process is the kernel's. A task stays what it is from its birth to its end.
func isWorker(pid, tid int) bool {
	st, err := readStat(pid, tid)
	return err == nil && st.flags&workerFlags != 0
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

// parentOf takes the parent's id out of a stat line, 0 if it cannot.
func parentOf(stat []byte) int {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0
	}
	f := strings.Fields(string(stat[end+1:]))
	if len(f) < 2 {
		return 0
	}
	return atoi(f[1])
}
