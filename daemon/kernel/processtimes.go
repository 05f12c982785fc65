package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// ProcessTimes is what the kernel has accounted to a whole process since it started, threads that have ended included and
// children left out.
type ProcessTimes struct {
	// User and System are the processor time in user and in kernel mode, in units of 10 ms. Their sum is exact; where the
	// kernel samples the mode (CONFIG_TICK_CPU_ACCOUNTING) the division is an estimate that gets better with time.
	User, System time.Duration
	// MinorFaults and MajorFaults count page faults that did without, and that waited for a disk.
	MinorFaults, MajorFaults uint64
	// Children is the processor time of children that have ended and that the process has waited for, with what theirs have used, in units
	// of 10 ms.
	Children time.Duration
	// ChildFaults is how many minor faults the same children had: some for each.
	ChildFaults uint64
}

// ReadProcess reads the accounting of a process (/proc/PID/stat). The error wraps ErrGone if it has ended.
func ReadProcess(pid int) (ProcessTimes, error) {
	what := fmt.Sprintf("reading the times of process %d", pid)
	dir, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ProcessTimes{}, explain(what, err)
	}
	defer unix.Close(dir)
	text, err := readAt(dir, "stat", make([]byte, statSize))
	if err != nil {
		return ProcessTimes{}, explain(what, err)
	}
	s, ok := procfs.ParseStat(text)
	if !ok {
		return ProcessTimes{}, fmt.Errorf("%s: stat has a form that this program does not know", what)
	}
	return ProcessTimes{User: time.Duration(s.User) * tick, System: time.Duration(s.System) * tick, Children: time.Duration(s.Children) * tick,
		ChildFaults: s.ChildFaults, MinorFaults: s.MinorFaults, MajorFaults: s.MajorFaults}, nil
}
