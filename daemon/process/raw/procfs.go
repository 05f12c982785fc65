package raw

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
type Status struct {
	State                          byte
	TGID, Tracer, Threads, Seccomp int
	FDSize                         int    // how many descriptors there is room for
	Inner                          int    // its number in its own namespace
	UIDs, GIDs                     [4]int // real, effective, saved, filesystem
	CapEff                         uint64
	Blocked, Caught                uint64 // signals, the first in the lowest bit
	Pending                        uint64 // those of the thread and of its process that it does not block
	Dumping                        bool   // it has ended, and writes its core dump
}

func parseStatus(b []byte) Status {
	var s Status
	for line := range strings.SplitSeq(string(b), "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			s.State = (value + "?")[0]
		case "Tgid":
			s.TGID = atoi(value)
		case "FDSize":
			s.FDSize = atoi(value)
		case "NStgid":
			s.Inner = atoi(value[strings.LastIndexAny(value, " \t")+1:])
		case "TracerPid":
			s.Tracer = atoi(value)
		case "Threads":
			s.Threads = atoi(value)
		case "Seccomp":
			s.Seccomp = atoi(value)
		case "Uid":
			s.UIDs = fourInts(value)
		case "Gid":
			s.GIDs = fourInts(value)
		case "CapEff":
			s.CapEff = hex(value)
		case "CoreDumping":
			s.Dumping = value == "1"
		case "SigPnd", "ShdPnd":
			s.Pending |= hex(value)
		case "SigBlk":
			s.Blocked = hex(value)
		case "SigCgt":
			s.Caught = hex(value)
		}
	}
	s.Pending &^= s.Blocked
	return s
}

// ReadStatus reads /proc/PID/status, or that of a thread when tid is not 0.
func ReadStatus(pid, tid int) (Status, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	if tid != 0 {
		path = fmt.Sprintf("/proc/%d/task/%d/status", pid, tid)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Status{}, err
	}
	return parseStatus(b), nil
}

// IsWorker says whether a task of a process is the kernel's: it never comes to where a thread stops for us.
func IsWorker(pid, tid int) bool {
	st, err := procfs.ReadThreadStat(pid, tid)
	return err == nil && st.IsWorker()
}

// Threads gives the ids of the threads that run code of the process, in increasing order.
func Threads(pid int) ([]int, error) {
	tids, err := Tasks(pid)
	return slices.DeleteFunc(tids, func(tid int) bool { return tid != pid && IsWorker(pid, tid) }), err
}

// Tasks gives the ids of all tasks of a process in increasing order, the kernel's workers among them.
func Tasks(pid int) ([]int, error) {
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

// CleanName makes a name that the target chose fit to be shown.
func CleanName(s string) string { return safetext.CleanMax(s, 64) }
