// Package procfs reads /proc/PID/stat. It is the only parser of that file. The text is the kernel's, except for the name, which
// the process chooses: it is not escaped.
//
// It imports nothing of the project. Its functions may be called from any goroutine.
package procfs

import (
	"bytes"
	"errors"
	"os"
	"strconv"
)

// Ticks is how many of the ticks in which the kernel writes times make a second (USER_HZ).
const Ticks = 100

// A Stat is what /proc/PID/stat says of a process, or of one of its threads (proc_pid_stat(5)).
type Stat struct {
	Name        []byte // at most 15 bytes, or more for threads of the kernel; any but NUL, so it is not safe to show. It lies in the text
	State       byte   // R S D T t Z X I
	Parent      int    // 0 where the parent is not visible here
	Flags       uint64 // PF_* of the kernel
	MinorFaults uint64
	MajorFaults uint64
	User        uint64 // processor time in ticks
	System      uint64
	ChildFaults uint64 // minor faults of children that were waited for: each process has some
	Children    uint64 // user and system time of children that were waited for
	Threads     int    // of the process
	Start       uint64 // in ticks since boot. A pid and its start together name a process for good
}

// WorkerFlags are those of tasks that run in the kernel on behalf of a process.
const WorkerFlags = flagIOWorker | flagUserWorker

// Flags of tasks (linux/sched.h).
const (
	flagIOWorker   = 0x10     // PF_IO_WORKER: of io_uring
	flagUserWorker = 0x4000   // PF_USER_WORKER: of vhost
	flagKernel     = 0x200000 // PF_KTHREAD
)

// IsWorker says whether a task runs in the kernel on behalf of a process. It is listed with the threads of that process but never comes to user mode.
// A task stays what it is from its birth to its end.
func (s *Stat) IsWorker() bool { return s.Flags&WorkerFlags != 0 }

// IsKernel says whether it is a thread of the kernel.
func (s *Stat) IsKernel() bool { return s.Flags&flagKernel != 0 }

var errStat = errors.New("no line of /proc/PID/stat")

// ReadStat reads the stat of a process. The error is of package os if there is none of that pid.
func ReadStat(pid int) (Stat, error) { return readStat("/proc/" + strconv.Itoa(pid) + "/stat") }

// ReadThreadStat reads the stat of a thread of a process.
func ReadThreadStat(pid, tid int) (Stat, error) {
	return readStat("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/stat")
}

func readStat(path string) (Stat, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Stat{}, err
	}
	s, ok := ParseStat(text)
	if !ok {
		return Stat{}, errStat
	}
	return s, nil
}

// ParseStat reads one line. The name in brackets may hold anything, brackets and line ends too, so the last bracket counts. A line that was cut is
// refused. Nothing is allocated.
func ParseStat(text []byte) (s Stat, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open || end+3 > len(text) {
		return Stat{}, false
	}
	s.Name = text[open+1 : end]
	s.State = text[end+2]
	text = text[end+3:]
	var n uint64
	for field := 4; field <= 22; field++ {
		if n, text, ok = Number(text); !ok {
			return Stat{}, false
		}
		switch field {
		case 4:
			s.Parent = int(n)
		case 9:
			s.Flags = n
		case 10:
			s.MinorFaults = n
		case 11:
			s.ChildFaults = n
		case 12:
			s.MajorFaults = n
		case 14:
			s.User = n
		case 15:
			s.System = n
		case 16, 17:
			s.Children += n
		case 20:
			s.Threads = int(n)
		case 22:
			s.Start = n
		}
	}
	return s, len(text) > 0 // there are more fields, or the last number was cut
}

// Number reads one decimal number after blanks, and returns what follows. A negative one reads as 0.
func Number(text []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	negative := i < len(text) && text[i] == '-'
	if negative {
		i++
	}
	first := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + uint64(text[i]-'0')
		i++
	}
	if negative {
		n = 0
	}
	return n, text[i:], i > first
}
