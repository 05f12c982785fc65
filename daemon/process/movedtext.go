package process

import (
	"encoding/binary"
	"slices"

	"culprit/daemon/process/raw"
)

// Programs that want their code in large pages copy it to memory of their own and move that over the original. The mapping shows no
// file then, but the addresses are those of the file's text, and what is there should be what the file has.

// A movedText is executable memory of the program's own between the mappings of a file.
type movedText struct {
	raw.Mapping             // with the file's name, and the offset at which it would show the file
	header      raw.Mapping // a mapping of the file
}

// DiffMoved compares executable memory of the program's own that lies where a file's text was with that file, and gives the differences.
func (p *Process) DiffMoved() (out []Diff, err error) {
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	for _, m := range p.movedText(maps) {
		diffs, err := p.diffMoved(m)
		if err != nil {
			return out, err
		}
		out = append(out, diffs...)
	}
	return out, nil
}

// movedText finds what lies in place of text.
func (p *Process) movedText(maps []raw.Mapping) (moved []movedText) {
	for _, own := range maps {
		if own.Perms&raw.Exec == 0 || own.Inode != 0 || own.Path != "" {
			continue
		}
		for _, h := range maps {
			if h.Start < own.Start && h.FileBacked() && h.Offset == 0 && endOf(maps, h) > own.Start {
				moved = append(moved, p.textAt(own, h)...)
			}
		}
	}
	return moved
}

// endOf is where the last mapping of a file ends that begins behind another one of it, without one of its beginning between them.
func endOf(maps []raw.Mapping, h raw.Mapping) (end raw.Addr) {
	for _, m := range maps {
		if m.Start > h.Start && m.Inode == h.Inode && m.Dev == h.Dev {
			if m.Offset == 0 {
				return end
			}
			end = m.End
		}
	}
	return end
}

// What an ELF file says in its head and in each of its program headers, as offsets in bytes.
const (
	elfPhoff, elfPhentsize, elfPhnum         = 32, 54, 56
	phFlags, phOff, phVaddr, phFilesz, phLen = 4, 8, 16, 32, 56
)

// textAt is what part of a file's text own memory stands for, by the head of the file as it is mapped.
func (p *Process) textAt(own, h raw.Mapping) []movedText {
	head := make([]byte, min(h.Len(), 4<<10))
	if p.ReadMem(h.Start, head) != nil || string(head[:4]) != "\x7fELF" {
		return nil
	}
	le := binary.LittleEndian
	at, size, n := le.Uint64(head[elfPhoff:]), uint64(le.Uint16(head[elfPhentsize:])), int(le.Uint16(head[elfPhnum:]))
	if size != phLen {
		return nil
	}
	var loads [][]byte
	for ; n > 0 && at < uint64(len(head)) && at+phLen <= uint64(len(head)); n, at = n-1, at+phLen {
		if le.Uint32(head[at:]) == 1 { // PT_LOAD
			loads = append(loads, head[at:at+phLen])
		}
	}
	first := slices.IndexFunc(loads, func(l []byte) bool { return le.Uint64(l[phOff:]) == 0 })
	if first < 0 {
		return nil
	}
	bias := h.Start - raw.Addr(le.Uint64(loads[first][phVaddr:]))
	for _, l := range loads {
		lo := bias + raw.Addr(le.Uint64(l[phVaddr:])&^(raw.PageSize-1))
		hi := (bias + raw.Addr(le.Uint64(l[phVaddr:])+le.Uint64(l[phFilesz:])) + raw.PageSize - 1) &^ (raw.PageSize - 1)
		if le.Uint32(l[phFlags:])&1 == 0 || max(lo, own.Start) >= min(hi, own.End) {
			continue
		}
		m := raw.Mapping{Start: max(lo, own.Start), End: min(hi, own.End), Perms: own.Perms, Dev: h.Dev, Inode: h.Inode, Path: h.Path}
		m.Offset = le.Uint64(l[phOff:])&^(raw.PageSize-1) + uint64(m.Start-lo)
		return []movedText{{m, h}}
	}
	return nil
}

// diffMoved compares such memory with the file.
func (p *Process) diffMoved(m movedText) ([]Diff, error) {
	f, err := p.OpenMapping(m.header)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	diffs, err := p.diffFile(m.Mapping, f)
	if err != nil {
		return nil, p.alive() // unmapped meanwhile
	}
	return diffs, nil
}
