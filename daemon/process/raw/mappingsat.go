package raw

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
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
	queryMapping    = 3<<30 | unsafe.Sizeof(mappingQuery{})<<16 | 'f'<<8 | 17 // PROCMAP_QUERY
	queriedReadable = 0x01                                                    // PROCMAP_QUERY_VMA_READABLE
	queriedWritable = 0x02
	queriedExec     = 0x04
	queriedShared   = 0x08
	queryNext       = 0x10 // PROCMAP_QUERY_COVERING_OR_NEXT_VMA: or else the next one
)

// AsksForMappings reports whether the kernel can be asked for single mappings. Where it cannot, all of them are read. Tests replace it.
var AsksForMappings = sync.OnceValue(func() bool {
	q, err := newQuerier(os.Getpid())
	if err != nil {
		return false
	}
	defer q.close()
	_, err = q.mapping(0, queryNext)
	return err == nil
})

// MappingsAt are the mappings that the addresses lie in, in the order of these; the zero Mapping stands for none. Kernels that can are asked for
// those mappings, about a microsecond each; others for all of them.
func MappingsAt(pid int, addrs []Addr) ([]Mapping, error) {
	if !AsksForMappings() {
		return amongAll(pid, addrs)
	}
	q, err := newQuerier(pid)
	if err != nil {
		return nil, err
	}
	defer q.close()
	at := make([]Mapping, len(addrs))
	for i, a := range addrs {
		at[i], err = q.mapping(a, 0)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return amongAll(pid, addrs)
		}
	}
	return at, nil
}

// amongAll is MappingsAt by the text of all mappings.
func amongAll(pid int, addrs []Addr) ([]Mapping, error) {
	maps, err := ReadMaps(pid)
	return MappingsOf(maps, addrs), err
}

// MappingsOf are those among mappings that the addresses lie in, as MappingsAt gives them.
func MappingsOf(maps []Mapping, addrs []Addr) []Mapping {
	at := make([]Mapping, len(addrs))
	for i, a := range addrs {
		at[i], _ = FindMapping(maps, a)
	}
	return at
}

// CodeMaps are the mappings in which code may run, in order of address. It takes less time than ReadMaps where the kernel can be asked for them.
func CodeMaps(pid int) (code []Mapping, err error) {
	if !AsksForMappings() {
		return codeAmongAll(pid)
	}
	q, err := newQuerier(pid)
	if err != nil {
		return nil, err
	}
	defer q.close()
	for from := Addr(0); ; {
		m, err := q.mapping(from, queryNext|queriedExec)
		switch {
		case errors.Is(err, unix.ENOENT):
			return code, nil
		case err != nil:
			return codeAmongAll(pid)
		}
		code, from = append(code, m), m.End
	}
}

// codeAmongAll is CodeMaps by the text of all mappings.
func codeAmongAll(pid int) ([]Mapping, error) {
	maps, err := ReadMaps(pid)
	return CodeOf(maps), err
}

// CodeOf are those among mappings in which code of the process may run. One that has the kernel's place for old system calls is none of them.
func CodeOf(maps []Mapping) (code []Mapping) {
	for _, m := range maps {
		if m.Executable() && m.Path != "[vsyscall]" {
			code = append(code, m)
		}
	}
	return code
}

// A querier asks the kernel for mappings of a process, until it is closed.
type querier struct {
	maps   *os.File
	name   [unix.PathMax]byte // room for a name, of which the kernel gets the address as a number
	pinned runtime.Pinner     // so it must not move
}

func newQuerier(pid int) (*querier, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	q := &querier{maps: f}
	q.pinned.Pin(q)
	return q, nil
}

func (q *querier) close() {
	q.pinned.Unpin()
	q.maps.Close()
}

// mapping is the one that an address lies in, or whatever else flags ask for.
func (q *querier) mapping(a Addr, flags uint64) (m Mapping, err error) {
	ask := mappingQuery{size: uint64(unsafe.Sizeof(mappingQuery{})), flags: flags, addr: uint64(a), nameSize: uint32(len(q.name)), nameAddr: uint64(uintptr(unsafe.Pointer(&q.name)))}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, q.maps.Fd(), queryMapping, uintptr(unsafe.Pointer(&ask))); errno != 0 {
		return m, errno
	}
	path, _, _ := bytes.Cut(q.name[:min(int(ask.nameSize), len(q.name))], []byte{0})
	m = Mapping{Start: Addr(ask.start), End: Addr(ask.end), Perms: permsOf(ask.perms), Offset: ask.offset, Dev: unix.Mkdev(ask.major, ask.minor), Inode: ask.inode}
	m.Path, m.Deleted = strings.CutSuffix(string(path), " (deleted)")
	return m, nil
}

func permsOf(queried uint64) (p Perms) {
	for _, b := range [...]struct {
		bit  uint64
		perm Perms
	}{{queriedReadable, Read}, {queriedWritable, Write}, {queriedExec, Exec}, {queriedShared, Shared}} {
		if queried&b.bit != 0 {
			p |= b.perm
		}
	}
	return p
}

// SharedOf lists those of the addresses that lie in a mapping that is shared (MAP_SHARED): what is written there comes into the file, and to all who
// map it. What is not mapped is not shared.
func SharedOf(pid int, addrs []Addr) (shared []Addr, err error) {
	at, err := MappingsAt(pid, addrs)
	for i, m := range at {
		if m.Perms&Shared != 0 {
			shared = append(shared, addrs[i])
		}
	}
	return shared, err
}
