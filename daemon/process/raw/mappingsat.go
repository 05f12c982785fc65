package raw

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
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

// MappingsAt are the mappings that the addresses lie in, in the order of these; the zero Mapping stands for none. Kernels that can are asked for
// those mappings, about a microsecond each; others for all of them.
func MappingsAt(pid int, addrs []Addr) (at []Mapping, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	asked := newQuerier(f)
	defer asked.close()
	at = make([]Mapping, len(addrs))
	for i, a := range addrs {
		at[i], err = asked.mapping(a, 0)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return amongAll(pid, addrs)
		}
	}
	return at, nil
}

// CodeMaps are the mappings in which code may run, in order of address. It takes less time than ReadMaps where kernels can be asked for them.
func CodeMaps(pid int) (code []Mapping, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	asked := newQuerier(f)
	defer asked.close()
	for from := Addr(0); ; {
		m, err := asked.mapping(from, queryNext|queriedExec)
		switch {
		case errors.Is(err, unix.ENOENT):
			return code, nil
		case err != nil:
			all, err := ReadMaps(pid)
			return slices.DeleteFunc(all, func(m Mapping) bool { return !m.Executable() }), err
		}
		code, from = append(code, m), m.End
	}
}

// A querier asks the kernel for mappings.
type querier struct {
	maps   *os.File
	name   [unix.PathMax]byte // room for a name, of which the kernel gets the address as a number
	pinned runtime.Pinner     // so it must not move
}

func newQuerier(maps *os.File) *querier {
	q := &querier{maps: maps}
	q.pinned.Pin(q)
	return q
}

func (q *querier) close() { q.pinned.Unpin() }

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

// amongAll is MappingsAt by the text of all mappings.
func amongAll(pid int, addrs []Addr) ([]Mapping, error) {
	maps, err := ReadMaps(pid)
	at := make([]Mapping, len(addrs))
	for i, a := range addrs {
		at[i], _ = FindMapping(maps, a)
	}
	return at, err
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
