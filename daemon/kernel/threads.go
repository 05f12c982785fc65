package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// tick is the unit of utime and stime in /proc/PID/stat: USER_HZ is 100 on x86-64, whatever the kernel's HZ.
const tick = 10 * time.Millisecond

// ThreadTimes is what the scheduler has accounted to one thread since it started.
type ThreadTimes struct {
	PID, TID int
	// Run is the time on a processor, in ns; while the thread runs it lags by at most one scheduler tick.
	// Source: /proc/PID/task/TID/schedstat, field 1.
	Run time.Duration
	// RunQueueWait is the time it was ready but waited for a processor (schedstat, field 2).
	RunQueueWait time.Duration
	// Slices counts how often it was put on a processor (schedstat, field 3).
	Slices uint64
	// User and System are the processor time in user and in kernel mode, in units of 10 ms (stat, fields 14 and 15).
	User, System time.Duration
	// Voluntary and Forced count switches away from it because it blocked, and because it was preempted (status).
	Voluntary, Forced uint64
	// MinorFaults and MajorFaults count page faults that did without, and that waited for a disk (stat, fields 10 and 12).
	MinorFaults, MajorFaults uint64
	// State is the letter of stat, field 3: R running or ready, S blocked, D blocked and not to be interrupted,
	// T stopped, t traced, Z ended, I idle kernel thread.
	State byte
	// Start is when the thread started, in ticks of 10 ms since boot (stat, field 22); with TID it names the thread.
	Start uint64
	// Coarse says that this kernel keeps no schedstat: Run is User+System, RunQueueWait and Slices are 0.
	Coarse bool

	worker bool
}

// Age is for how long, in seconds, a thread has lived that started at a time as ThreadTimes has it; up to 10 ms more than that.
func Age(start uint64) float64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return (time.Duration(now.Nano()) - time.Duration(start)*tick).Seconds()
}

// ReadThread reads the accounting of one thread. It opens and closes what it reads; for many threads at a time use
// a ThreadTable. The error wraps ErrGone if there is no such thread.
func ReadThread(pid, tid int) (ThreadTimes, error) {
	what := fmt.Sprintf("reading the times of thread %d of process %d", tid, pid)
	dir, err := unix.Open(fmt.Sprintf("/proc/%d/task/%d", pid, tid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ThreadTimes{}, explain(what, err)
	}
	defer unix.Close(dir)
	times := ThreadTimes{PID: pid, TID: tid}
	buf := make([]byte, statusSize)
	var sched schedstat
	text, err := readAt(dir, "schedstat", buf)
	if err == nil {
		sched, _ = parseSchedstat(text)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return times, explain(what, err)
	}
	if text, err = readAt(dir, "stat", buf); err != nil {
		return times, explain(what, err)
	}
	if !times.takeStat(text) {
		return times, fmt.Errorf("%s: stat has a form that this program does not know", what)
	}
	if text, err = readAt(dir, "status", buf); err != nil {
		return times, explain(what, err)
	}
	times.takeStatus(text)
	times.takeSchedstat(sched)
	return times, nil
}

// The largest that these files can be: stat has 52 numbers and a name of 16 bytes (64 for kernel threads); status has a
// few lines that grow with the number of processors and groups, behind which the switches stand.
const (
	schedstatSize = 80
	statSize      = 2048
	statusSize    = 64 << 10
)

// readAt reads the beginning of a file that lies in the directory.
func readAt(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Pread(fd, buf, 0)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

type schedstat struct{ run, wait, slices uint64 }

// parseSchedstat reads "run wait slices\n".
func parseSchedstat(text []byte) (s schedstat, ok bool) {
	var rest []byte
	if s.run, rest, ok = procfs.Number(text); !ok {
		return schedstat{}, false
	}
	if s.wait, rest, ok = procfs.Number(rest); !ok {
		return schedstat{}, false
	}
	s.slices, _, ok = procfs.Number(rest)
	return s, ok
}

// RunningShare is how much of the time in which the first thread of a process wanted a CPU it had one, 0..1; 1 if that is not known.
func RunningShare(pid int) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/schedstat")
	s, ok := parseSchedstat(text)
	if err != nil || !ok || s.run+s.wait == 0 {
		return 1
	}
	return float64(s.run) / float64(s.run+s.wait)
}

// takeSchedstat must come after takeStat: where the kernel was told not to keep schedstat it prints zeros.
func (t *ThreadTimes) takeSchedstat(s schedstat) {
	if t.Coarse = s == (schedstat{}) && t.User+t.System > 0; t.Coarse {
		t.Run = t.User + t.System
		return
	}
	t.Run, t.RunQueueWait, t.Slices = time.Duration(s.run), time.Duration(s.wait), s.slices
}

// takeStat reads state, flags, faults, times and start.
func (t *ThreadTimes) takeStat(text []byte) bool {
	s, ok := procfs.ParseStat(text)
	if !ok {
		return false
	}
	t.State, t.Start, t.worker = s.State, s.Start, s.IsWorker()
	t.MinorFaults, t.MajorFaults = s.MinorFaults, s.MajorFaults
	t.User, t.System = time.Duration(s.User)*tick, time.Duration(s.System)*tick
	return true
}

var voluntaryLine, forcedLine = []byte("\nvoluntary_ctxt_switches:"), []byte("\nnonvoluntary_ctxt_switches:")

// takeStatus reads the two counts of switches, which are the last lines.
func (t *ThreadTimes) takeStatus(text []byte) {
	if i := bytes.LastIndex(text, voluntaryLine); i >= 0 {
		t.Voluntary, _, _ = procfs.Number(text[i+len(voluntaryLine):])
	}
	if i := bytes.LastIndex(text, forcedLine); i >= 0 {
		t.Forced, _, _ = procfs.Number(text[i+len(forcedLine):])
	}
}
