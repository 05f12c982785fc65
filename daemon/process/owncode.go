package process

import (
	"encoding/binary"

	"culprit/daemon/process/raw"
)

// Bits of an entry of /proc/PID/pagemap.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61 // or of shared memory
)

// ownPiece is how much code is read at once, in bytes.
const ownPiece = 256 << 10

// OwnCode gives f the code of an executable mapping that is not simply what a file holds: all of anonymous and shared mappings, and of
// a private mapping of a file the pages that were written to. Pages that nobody has touched are left out. code is good until f
// returns; runs of pages come in order of address, each in pieces that overlap by some bytes, so that none cuts every instruction at
// its end in two. What cannot be read (any more) is left out, too.
func (p *Process) OwnCode(m raw.Mapping, f func(at raw.Addr, code []byte)) error {
	const overlap = 16
	return p.ownRuns(m, func(lo, hi raw.Addr) error {
		buf := make([]byte, min(uint64(hi-lo), ownPiece))
		for at := lo; at < hi; at += raw.Addr(len(buf) - overlap) {
			piece := buf[:min(uint64(hi-at), uint64(len(buf)))]
			if err := p.ReadMem(at, piece); err != nil {
				return p.alive() // unmapped meanwhile, or beyond the end of a file
			}
			f(at, piece)
			if at+raw.Addr(len(piece)) == hi {
				return nil
			}
		}
		return nil
	})
}

// ownRuns gives f the runs of pages that OwnCode is about.
func (p *Process) ownRuns(m raw.Mapping, f func(lo, hi raw.Addr) error) error {
	if m.Perms&raw.Shared != 0 {
		return f(m.Start, m.End)
	}
	release, err := p.use()
	if err != nil {
		return err
	}
	pages, err := raw.OpenPagemap(p.pid)
	release()
	if err != nil {
		return p.gone(err)
	}
	defer pages.Close()
	words := make([]byte, 8*512)
	var lo raw.Addr
	for at := m.Start; at < m.End; at += raw.PageSize * 512 {
		n := int(min(uint64(m.End-at)/raw.PageSize, 512))
		if _, err := pages.ReadAt(words[:8*n], int64(at/raw.PageSize*8)); err != nil {
			return p.gone(err)
		}
		for i := range n {
			e := binary.LittleEndian.Uint64(words[8*i:])
			own := e&pageSwapped != 0 || e&pagePresent != 0 && (e&pageOfFile == 0 || !m.FileBacked())
			here := at + raw.Addr(i)*raw.PageSize
			switch {
			case own && lo == 0:
				lo = here
			case !own && lo != 0:
				if err := f(lo, here); err != nil {
					return err
				}
				lo = 0
			}
		}
	}
	if lo != 0 {
		return f(lo, m.End)
	}
	return nil
}
