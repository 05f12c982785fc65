package raw

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mappingQuery is struct procmap_query of linux/fs.h: what mapping covers an address (Linux 6.11).
type mappingQuery struct {
	size, flags, addr       uint64
	start, end, perms       uint64
	pageSize, offset, inode uint64
	major, minor            uint32
	nameSize, buildIDSize   uint32
	nameAddr, buildIDAddr   uint64
}

// From linux/fs.h.
const (
	queryMapping  = 3<<30 | unsafe.Sizeof(mappingQuery{})<<16 | 'f'<<8 | 17 // PROCMAP_QUERY
	mappingShared = 0x08                                                    // PROCMAP_QUERY_VMA_SHARED
)

// SharedOf lists those of the addresses that lie in a mapping that is shared (MAP_SHARED): what is written there comes into the file, and to all who
// map it. What is not mapped is not shared. Kernels that can are asked for the mappings of the addresses, others for all.
func SharedOf(pid int, addrs []Addr) (shared []Addr, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, a := range addrs {
		q := mappingQuery{size: uint64(unsafe.Sizeof(mappingQuery{})), addr: uint64(a)}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), queryMapping, uintptr(unsafe.Pointer(&q)))
		switch {
		case errno == 0 && q.perms&mappingShared != 0:
			shared = append(shared, a)
		case errno == 0, errors.Is(errno, unix.ENOENT):
		default:
			return sharedOf(pid, addrs)
		}
	}
	return shared, nil
}

// sharedOf is SharedOf by the text of all mappings.
func sharedOf(pid int, addrs []Addr) (shared []Addr, err error) {
	maps, err := ReadMaps(pid)
	for _, a := range addrs {
		if m, ok := FindMapping(maps, a); ok && m.Perms&Shared != 0 {
			shared = append(shared, a)
		}
	}
	return shared, err
}
