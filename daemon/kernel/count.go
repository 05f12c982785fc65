package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An EventCount counts an event of the processor or of the kernel (perf_event_open(2)) from when it is opened: in all threads of a process,
// those that are born later among them, or in one thread. Nothing is put into the process; the kernel switches the counter with the
// threads. It belongs to one goroutine at a time. Without Close it counts on.
type EventCount struct {
	fds      []int
	userOnly bool
}

// event is what perf_event_open wants to know of one.
type event struct {
	kind   uint32
	config uint64
}

// events by the names that perf(1) gives them.
var events = map[string]event{
	"cycles": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES}, "instructions": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	"cache-references": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES}, "cache-misses": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
	"branches": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS}, "branch-misses": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
	"bus-cycles": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BUS_CYCLES}, "ref-cycles": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_REF_CPU_CYCLES},
	"stalled-cycles-frontend": {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	"stalled-cycles-backend":  {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	"task-clock":              {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK}, "page-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
	"minor-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS_MIN}, "major-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	"context-switches": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES}, "cpu-migrations": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS},
	"alignment-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_ALIGNMENT_FAULTS}, "emulation-faults": {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_EMULATION_FAULTS},
}

// caches and their actions, whose events are "L1-dcache-loads", "LLC-load-misses", ..; the numbers are those of PERF_TYPE_HW_CACHE.
var (
	caches  = []string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}
	actions = []string{"load", "store", "prefetch"}
)

func init() {
	for c, cache := range caches {
		for a, action := range actions {
			plural := action + "s"
			if action == "prefetch" {
				plural = "prefetches"
			}
			at := uint64(c) | uint64(a)<<8
			events[cache+"-"+plural] = event{unix.PERF_TYPE_HW_CACHE, at}
			events[cache+"-"+action+"-misses"] = event{unix.PERF_TYPE_HW_CACHE, at | 1<<16}
		}
	}
}

// rawEvent is an event by its number in the processor's manual, in hexadecimal: what it means is the processor's affair.
var rawEvent = regexp.MustCompile(`^r([0-9a-f]{1,16})$`)

// EventNames are the events that have a name. Besides them there are those of the processor by number, such as "r01c2".
func EventNames() (names []string) {
	for n := range events {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func eventNamed(name string) (event, error) {
	if e, ok := events[name]; ok {
		return e, nil
	}
	if m := rawEvent.FindStringSubmatch(name); m != nil {
		n, err := strconv.ParseUint(m[1], 16, 64)
		return event{unix.PERF_TYPE_RAW, n}, err
	}
	return event{}, fmt.Errorf("no event is called %q: see perf list, or give its number, such as r01c2", name)
}

// CountEvent begins to count. tid chooses one thread, 0 all of the process. Errors: *NotPermitted, *Unsupported where this machine does not
// count the event, one that wraps ErrGone, or the kernel's, such as that of too many open files: there is one for each thread.
func CountEvent(pid, tid int, name string) (*EventCount, error) {
	e, err := eventNamed(name)
	if err != nil {
		return nil, err
	}
	c, err := e.count(pid, tid, false)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		c, err = e.count(pid, tid, true) // kernel.perf_event_paranoid = 2 allows to count in user mode only
	}
	return c, explainCount(name, pid, err)
}

// EventMissing is why this machine does not count an event; nil if it does. It counts in the caller, for a moment.
func EventMissing(name string) error {
	c, err := CountEvent(unix.Getpid(), unix.Gettid(), name)
	if err == nil {
		c.Close()
	}
	return err
}

func explainCount(name string, pid int, err error) error {
	what := fmt.Sprintf("counting %s in process %d", name, pid)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return &Unsupported{What: what, Needs: "a CPU that counts it and lets this system see it (most virtual machines have no counters), and Linux 5.13"}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return &NotPermitted{What: what, Remedy: paranoidRemedy(), Err: err}
	}
	return explain(what, err)
}

// countTries is how often threads are listed until none has come while their counters were opened: it would be counted twice, by itself
// and by the one it comes from, or not at all.
const countTries = 20

func (e event) count(pid, tid int, userOnly bool) (c *EventCount, err error) {
	c = &EventCount{userOnly: userOnly}
	if tid != 0 {
		return c, e.open(c, tid, false)
	}
	var tids, again []int
	for range countTries {
		c.Close()
		if tids, err = ListThreads(pid); err != nil {
			return c, err
		}
		for _, id := range tids {
			if err = e.open(c, id, true); err != nil && !errors.Is(err, unix.ESRCH) {
				c.Close()
				return c, err
			}
		}
		if again, err = ListThreads(pid); err != nil || slices.Equal(tids, again) {
			break
		}
	}
	if err != nil {
		c.Close()
	}
	return c, err
}

// inheritThread is attr.inherit_thread: what is inherited goes to threads of the process, not to children (Linux 5.13).
const inheritThread = 1 << 35

func (e event) open(c *EventCount, tid int, inherit bool) error {
	attr := unix.PerfEventAttr{Type: e.kind, Config: e.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeHv,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	if inherit {
		attr.Bits |= unix.PerfBitInherit | inheritThread
	}
	if c.userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		c.fds = append(c.fds, fd)
	}
	return err
}

// UserOnly says that the kernel allows to count in user mode only.
func (c *EventCount) UserOnly() bool { return c.userOnly }

// Value is how many events there were since the count began; of task-clock, nanoseconds. Where a processor has fewer counters than are
// asked for, each counts for part of the time: the value is what it would be for all of it.
func (c *EventCount) Value() (float64, error) {
	var sum float64
	var b [24]byte
	for _, fd := range c.fds {
		if _, err := unix.Read(fd, b[:]); err != nil {
			return sum, fmt.Errorf("reading a count of events: %w", err)
		}
		value, enabled, running := float64(binary.LittleEndian.Uint64(b[:])), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if running > 0 && running < enabled {
			value *= float64(enabled) / float64(running)
		}
		sum += value
	}
	return sum, nil
}

// Close ends the count. It may be called more than once.
func (c *EventCount) Close() {
	for _, fd := range c.fds {
		unix.Close(fd)
	}
	c.fds = nil
}
