package textdiff

import (
	"bytes"
	"debug/elf"
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

// Moved compares executable memory of the program's own that lies where a file's text was with that file, and gives the differences.
func Moved(p Process) (out []Diff, err error) {
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	for _, m := range findMoved(p, maps) {
		diffs, err := diffMoved(p, m)
		if err != nil {
			return out, err
		}
		out = append(out, diffs...)
	}
	return out, nil
}

// findMoved finds what lies in place of text.
func findMoved(p Process, maps []raw.Mapping) (moved []movedText) {
	for _, own := range maps {
		if own.Perms&raw.Exec == 0 || own.Inode != 0 || own.Path != "" {
			continue
		}
		for _, h := range maps {
			if h.Start < own.Start && h.FileBacked() && h.Offset == 0 && endOf(maps, h) > own.Start {
				moved = append(moved, textAt(p, own, h)...)
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

// textAt is what part of a file's text own memory stands for, by the head of the file as it is mapped.
func textAt(p Process, own, h raw.Mapping) []movedText {
	loads := loads(p, h)
	first := slices.IndexFunc(loads, func(l elf.Prog64) bool { return l.Off == 0 })
	if first < 0 {
		return nil
	}
	bias := h.Start - raw.Addr(loads[first].Vaddr)
	for _, l := range loads {
		lo := bias + raw.Addr(l.Vaddr&^(raw.PageSize-1))
		hi := (bias + raw.Addr(l.Vaddr+l.Filesz) + raw.PageSize - 1) &^ (raw.PageSize - 1)
		if elf.ProgFlag(l.Flags)&elf.PF_X == 0 || max(lo, own.Start) >= min(hi, own.End) {
			continue
		}
		m := raw.Mapping{Start: max(lo, own.Start), End: min(hi, own.End), Perms: own.Perms, Dev: h.Dev, Inode: h.Inode, Path: h.Path}
		m.Offset = l.Off&^(raw.PageSize-1) + uint64(m.Start-lo)
		return []movedText{{m, h}}
	}
	return nil
}

// loads gives the loadable segments of a file by its head as it is mapped.
func loads(p Process, h raw.Mapping) (loads []elf.Prog64) {
	head := make([]byte, min(h.Len(), 4<<10))
	var file elf.Header64
	if p.ReadMem(h.Start, head) != nil || string(head[:4]) != elf.ELFMAG {
		return nil
	}
	if _, err := binary.Decode(head, binary.LittleEndian, &file); err != nil || file.Phoff > uint64(len(head)) {
		return nil
	}
	r := bytes.NewReader(head[file.Phoff:])
	for range file.Phnum {
		var prog elf.Prog64
		if binary.Read(r, binary.LittleEndian, &prog) != nil {
			break
		}
		if elf.ProgType(prog.Type) == elf.PT_LOAD {
			loads = append(loads, prog)
		}
	}
	return loads
}

// diffMoved compares such memory with the file.
func diffMoved(p Process, m movedText) ([]Diff, error) {
	f, err := p.OpenMapping(m.header)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	diffs, err := diffFile(p, m.Mapping, f)
	if err != nil {
		if p.Gone() {
			return nil, err
		}
		return nil, nil // unmapped meanwhile
	}
	return diffs, nil
}
