package rows

import (
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Of linux/bpf.h; x/sys has no call for it, and ebpf opens maps by number for writing only.
const (
	cmdMapByID   = 14 // BPF_MAP_GET_FD_BY_ID
	openReadOnly = 1 << 3
)

// readOnly opens the map again, so that it cannot be written through the descriptor. -1 where that is not permitted.
func readOnly(m *ebpf.Map) int {
	info, err := m.Info()
	if err != nil {
		return -1
	}
	id, ok := info.ID()
	if !ok {
		return -1
	}
	attr := struct{ id, next, flags uint32 }{uint32(id), 0, openReadOnly}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, cmdMapByID, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return -1
	}
	return int(fd)
}
