package kernel

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// MemorySize is how much memory a process maps, in bytes (/proc/PID/statm, field 1). The error wraps ErrGone if it has ended.
func MemorySize(pid int) (uint64, error) { return statm(pid, 1) }

// ResidentMemory is how much of what a process maps is in memory, in bytes (/proc/PID/statm, field 2); pages that it shares are among it. The
// error wraps ErrGone if it has ended.
func ResidentMemory(pid int) (uint64, error) { return statm(pid, 2) }

// OpenDescriptors is how many descriptors a process has open. The error wraps ErrGone if it has ended.
func OpenDescriptors(pid int) (uint64, error) {
	what := fmt.Sprintf("counting the descriptors of process %d", pid)
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, explain(what, err)
	}
	if st.Size > 0 {
		return uint64(st.Size), nil // since Linux 6.2 the size of the directory is their number
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, explain(what, err)
	}
	return uint64(len(entries)), nil
}

// statm is a field of /proc/PID/statm, counted from 1, in bytes.
func statm(pid, field int) (uint64, error) {
	what := fmt.Sprintf("reading the memory of process %d", pid)
	var buf [128]byte
	text, err := readAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/statm", buf[:])
	if err != nil {
		return 0, explain(what, err)
	}
	var pages uint64
	for range field {
		var ok bool
		if pages, text, ok = procfs.Number(text); !ok {
			return 0, fmt.Errorf("%s: statm has a form that this program does not know", what)
		}
	}
	return pages * uint64(os.Getpagesize()), nil
}
