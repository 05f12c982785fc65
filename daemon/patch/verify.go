package patch

import (
	"fmt"
	"strings"

	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// A VerifyReport says what of ours is left in a process.
type VerifyReport struct {
	DifferingBytes int      // bytes of text that are not as in its files, where it lies in memory of the program's own, too
	Leads          int      // places in code that is no file's from where it goes into mappings of ours
	Mappings       int      // mappings of ours
	Staying        int      // of them those that stay on purpose: contexts of the program may come back to them
	Descriptors    int      // open descriptors of ours
	TracerPID      int      // who traces it, 0 = nobody
	Details        []string // one line per difference, at most 20
}

// Clean reports whether nothing is left.
func (r VerifyReport) Clean() bool {
	return r.DifferingBytes == 0 && r.Leads == 0 && r.Mappings == r.Staying && r.Descriptors == 0 && r.TracerPID == 0
}

// Verify compares every executable page of a process with its file and looks for mappings and tracers.
func Verify(pid int) (r VerifyReport, err error) {
	p, err := process.Open(pid)
	if err != nil {
		return r, err
	}
	defer p.Close()
	diffs, err := p.DiffText()
	if err != nil {
		return r, err
	}
	moved, err := p.DiffMoved()
	if err != nil {
		return r, err
	}
	for _, d := range append(diffs, moved...) {
		r.DifferingBytes += d.Bytes
		if len(r.Details) < 20 {
			r.Details = append(r.Details, fmt.Sprintf("%d bytes differ at %v (%s)", d.Bytes, d.Addr, d.Path[strings.LastIndexByte(d.Path, '/')+1:]))
		}
	}
	maps, err := segment.Mappings(p)
	if err != nil {
		return r, err
	}
	all, err := p.Maps()
	if err != nil {
		return r, err
	}
	if segment.Staying(maps) {
		r.Staying = len(maps)
	}
	r.Mappings = len(maps) + len(process.Leftovers(all))
	if r.Leads, err = leads(p); err != nil {
		return r, err
	}
	if r.Leads > 0 && len(r.Details) < 20 {
		r.Details = append(r.Details, fmt.Sprintf("%d places in memory of the program's own lead into mappings of culprit", r.Leads))
	}
	fds, err := segment.Descriptors(p)
	if err != nil {
		return r, err
	}
	r.Descriptors = len(fds)
	info, err := p.Info()
	r.TracerPID = info.Tracer
	return r, err
}

// leads counts the places in code that is no file's from where it goes into what is left of a segment.
func leads(p *process.Process) (n int, err error) {
	entries, err := ledgerHistory(p)
	if err != nil {
		return 0, err
	}
	s, err := findStrays(p, entries, func(uint64, int) []byte { return nil })
	if err != nil {
		return 0, err
	}
	for at := range s.others {
		n += s.ownMemory(at)
	}
	for at := range s.copies {
		n += s.ownMemory(at)
	}
	return n, nil
}
