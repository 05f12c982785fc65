package segment

import (
	"errors"
	"fmt"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// ErrNone says that a process holds nothing of ours.
var ErrNone = errors.New("culprit has left nothing in it")

// ReadHeader finds the head of the segment in a process, and the mapping that it begins. Where a head cannot be read its owner may just have
// unmapped it: then the mappings say so.
func ReadHeader(p *process.Process) (h *trampoline.Header, m process.Mapping, err error) {
	const mostLooks = 10 // somebody may map and unmap heads for ever
	for range mostLooks {
		maps, mapsErr := p.Maps()
		if mapsErr != nil {
			return nil, process.Mapping{}, mapsErr
		}
		unread := m
		h, m, err = HeaderIn(p, MappingsIn(p, maps))
		if !errors.Is(err, errHeadUnread) || m == unread {
			break
		}
	}
	return h, m, err
}

// errHeadUnread says that there is a head and that its memory cannot be read.
var errHeadUnread = fmt.Errorf("its memory cannot be read: %w", trampoline.ErrNoSegment)

// HeaderIn reads the head of the segment that these mappings belong to. One that cannot be read is none that can be believed.
func HeaderIn(p *process.Process, ours []process.Mapping) (*trampoline.Header, process.Mapping, error) {
	for _, m := range ours {
		if IsHead(m) {
			page := make([]byte, trampoline.PageSize)
			if err := p.ReadMem(m.Start, page); err != nil {
				return nil, m, errors.Join(errHeadUnread, err)
			}
			h, err := trampoline.DecodeHeader(page)
			return h, m, err
		}
	}
	return nil, process.Mapping{}, ErrNone // what there is without a head is there to stay
}
