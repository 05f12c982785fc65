package segment

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// What of a process is ours. The name of our memory files says little: a culprit that is measured itself maps those of its own targets, and
// anybody may use the name. The head says which files the segment consists of, before the target gets any of them.

// Mappings lists what the target maps of a segment.
func Mappings(p *process.Process) ([]process.Mapping, error) {
	maps, err := p.Maps()
	return AllIn(p, maps), err
}

// AllIn are the mappings of a segment, those of the kernel's rows first: the head says where they are.
func AllIn(p *process.Process, maps []process.Mapping) []process.Mapping {
	ours := MappingsIn(p, maps)
	return append(rowMappings(p, ours, maps), ours...)
}

// MappingsIn picks the mappings of a segment.
func MappingsIn(p *process.Process, maps []process.Mapping) []process.Mapping {
	return pick(maps, filesIn(p, maps).have)
}

// pick gives the mappings for which have holds. An island that lacks its first page has a gate before it, which is returned with it.
func pick(maps []process.Mapping, have func(process.Mapping) bool) (picked []process.Mapping) {
	for _, m := range maps {
		if !have(m) {
			continue
		}
		if hasGate(m, maps) {
			m.Start -= trampoline.PageSize
			m.Offset -= trampoline.PageSize
		}
		picked = append(picked, m)
	}
	return picked
}

// isNamed reports whether a mapping is of a file that has the name of ours.
func isNamed(m process.Mapping) bool { return m.Path == "/memfd:"+Name }

// IsHead reports whether a mapping may begin with the head.
func IsHead(m process.Mapping) bool {
	return isNamed(m) && m.Offset == 0 && m.Perms&(process.Exec|process.Write) == 0
}

// files say which mappings are of a segment.
type files struct {
	byName bool // what has the name is ours: there is no head that says more
	head   process.Mapping
	inodes []uint64
}

// filesIn asks the head of a process's segment. Where none can be read, what has the name is ours if anything of it could be: a segment leaves
// code, or a head that is damaged or of another version, but never counters alone.
func filesIn(p *process.Process, maps []process.Mapping) (s files) {
	for _, m := range maps {
		if !IsHead(m) {
			s.byName = s.byName || isNamed(m) && m.Perms&process.Exec != 0
			continue
		}
		page := make([]byte, trampoline.PageSize)
		if err := p.ReadMem(m.Start, page); err != nil {
			s.byName = true
			continue
		}
		if !strings.HasPrefix(string(page), trampoline.Magic[:len(trampoline.Magic)-1]) {
			continue // somebody else's
		}
		s.byName = true
		if h, err := trampoline.DecodeHeader(page); err == nil && (h.HeadAddr == uint64(m.Start) || h.HeadAddr == 0) && len(h.Files) > 0 {
			return files{head: m, inodes: append(h.Files, m.Inode)}
		}
	}
	return s
}

// have reports whether a mapping is of the segment.
func (s files) have(m process.Mapping) bool {
	return isNamed(m) && (s.byName || m.Dev == s.head.Dev && slices.Contains(s.inodes, m.Inode))
}

func hasGate(island process.Mapping, maps []process.Mapping) bool {
	if island.Perms&process.Exec == 0 || !lacksPage(island) {
		return false
	}
	lo := island.Start - trampoline.PageSize
	for _, m := range maps {
		if m.Contains(lo) {
			return m.End >= island.Start && m.Inode == 0 && m.Path == "" && m.Perms == process.Read
		}
	}
	return false
}

// lacksPage reports whether a mapping of code begins with the second page of an island: in segments of version 1 islands of 32 MiB had any
// offset.
func lacksPage(m process.Mapping) bool {
	return m.Offset%trampoline.IslandAlign == trampoline.PageSize || m.Len() == 32<<20-trampoline.PageSize
}

// Descriptors lists the descriptors of a segment that the target has open: a culprit was killed while it built one.
func Descriptors(p *process.Process) (fds []int, err error) {
	open, err := p.Descriptors()
	if err != nil {
		return nil, err
	}
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	files := filesIn(p, maps)
	for fd, link := range open {
		if link == "/memfd:"+Name+" (deleted)" && files.hasOpen(p, fd, maps) {
			fds = append(fds, fd)
		}
	}
	return append(fds, rowDescriptors(p, open)...), nil
}

// hasOpen reports whether a file with our name that a process has open is of the segment. Without a head it must be sealed as ours are, and not
// be mapped for writing: then the process has made it himself.
func (s files) hasOpen(p *process.Process, fd int, maps []process.Mapping) bool {
	inode := fdInfo(fmt.Sprintf("/proc/%d", p.PID()), fd, "ino") // 0 before Linux 5.14
	if len(s.inodes) > 0 && inode != 0 {
		return slices.Contains(s.inodes, inode)
	}
	seals, ok := p.Seals(fd)
	return ok && seals&^unix.F_SEAL_FUTURE_WRITE == areaSeals && !slices.ContainsFunc(maps, func(m process.Mapping) bool {
		return isNamed(m) && m.Inode == inode && m.Perms&process.Write != 0
	})
}

// fdInfo is a number that the kernel tells of a descriptor of a process, given as its directory in /proc; 0 if it does not.
func fdInfo(process string, fd int, key string) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("%s/fdinfo/%d", process, fd))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64) // of what is none 0
			return n
		}
	}
	return 0
}

// Staying reports whether all these mappings of ours are there to stay.
func Staying(ours []process.Mapping) bool { return len(ours) > 0 && !slices.ContainsFunc(ours, IsHead) }
