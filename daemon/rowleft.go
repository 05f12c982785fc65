package daemon

import (
	"culprit/daemon/process"
	"culprit/trampoline"
)

// What a culprit that was killed has left of the kernel's rows in a process: their mapping, whose place the head of the segment says,
// and descriptors on the way to it.

// rowMappings are the mappings where the head of a segment among ours says that the rows are.
func rowMappings(p *process.Process, ours, maps []process.Mapping) (list []process.Mapping) {
	h := headerIn(p, ours)
	if h == nil || h.RowsSize == 0 {
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

// headerIn reads the head of the segment that these mappings belong to; nil if it is not there.
func headerIn(p *process.Process, ours []process.Mapping) *trampoline.Header {
	for _, m := range ours {
		if m.Offset == 0 && m.Perms&process.Exec == 0 && m.Path == "/memfd:"+segmentName {
			page := make([]byte, trampoline.PageSize)
			if p.ReadMem(m.Start, page) != nil {
				return nil
			}
			h, err := trampoline.DecodeHeader(page)
			if err != nil {
				return nil
			}
			return h
		}
	}
	return nil
}

// passing are the descriptors that the head of the segment says are on the way, if they are what goes that way.
func passing(p *process.Process, open map[int]string) (fds []int) {
	maps, err := p.Maps()
	if err != nil {
		return nil
	}
	h := headerIn(p, oursIn(maps))
	if h == nil {
		return nil
	}
	for _, fd := range h.Passing {
		if link := open[fd]; link == "anon_inode:bpf-map" || len(link) > 7 && link[:7] == "socket:" {
			fds = append(fds, fd)
		}
	}
	return fds
}
