package daemon

import (
	"fmt"

	"culprit/daemon/process"
)

// What a culprit that was killed has left of the kernel's rows in a process: their mapping, whose place the head of the segment says,
// and descriptors on the way to it.

// rowMappings are the mappings where the head of a segment among ours says that the rows are.
func rowMappings(p *process.Process, ours, maps []process.Mapping) (list []process.Mapping) {
	h, _, err := headerIn(p, ours)
	if err != nil || h.RowsSize == 0 {
		return nil
	}
	lo, hi := process.Addr(h.RowsAddr), process.Addr(h.RowsAddr+h.RowsSize)
	for _, m := range maps {
		if m.Start >= lo && m.End <= hi && (m.Path == "anon_inode:bpf-map" || m.Path == "" && m.Perms == 0) {
			list = append(list, m)
		}
	}
	return list
}

// passing are the sockets on which descriptors are passed, and the descriptors of the map that the head of the segment says has the rows.
func passing(p *process.Process, open map[int]string) (fds []int) {
	fds = p.PassingSockets(open)
	h, _, err := readHeader(p)
	if err != nil || h.RowsMap == 0 {
		return fds
	}
	for fd, link := range open {
		if link == "anon_inode:bpf-map" && uint32(fdInfo(fmt.Sprintf("/proc/%d", p.PID()), fd, "map_id")) == h.RowsMap {
			fds = append(fds, fd)
		}
	}
	return fds
}
