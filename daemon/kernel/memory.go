package kernel

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// MemorySize is how much memory a process maps, in bytes (/proc/PID/statm, field 1). The error wraps ErrGone if it has ended.
func MemorySize(pid int) (uint64, error) {
	what := fmt.Sprintf("reading the memory of process %d", pid)
	var buf [128]byte
	text, err := readAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/statm", buf[:])
	if err != nil {
		return 0, explain(what, err)
	}
	pages, _, ok := procfs.Number(text)
	if !ok {
		return 0, fmt.Errorf("%s: statm has a form that this program does not know", what)
	}
	return pages * uint64(os.Getpagesize()), nil
}
