package raw

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// PeersOf lists the processes with the memory of a process, by asking the kernel about all there are.
func PeersOf(pid int) (peers []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if other, _ := strconv.Atoi(name); other > 0 && other != pid && SameMemory(pid, other) {
			peers = append(peers, other)
		}
	}
	return peers
}

// SameMemory is false where the kernel does not say (no CONFIG_KCMP, no right). Two that have no memory, as all that have ended and the threads
// of the kernel, have not the same.
func SameMemory(a, b int) bool {
	const kcmpVM = 1
	r, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return e == 0 && r == 0 && hasMemory(b)
}

func hasMemory(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	return err == nil && len(b) > 0 && b[0] != '0'
}
