package raw

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// PageSize is the size of a page of memory in bytes.
const PageSize = 4096

// An Addr is an address in the target. It is never a pointer of ours.
type Addr uint64

// String writes the address as 0x and hexadecimal digits.
func (a Addr) String() string { return fmt.Sprintf("%#x", uint64(a)) }

// Perms are the permissions of a mapping.
type Perms uint8

// The permission bits. Shared is set for MAP_SHARED, clear for a private mapping.
const (
	Read Perms = 1 << iota
	Write
	Exec
	Shared
)

// String writes the permissions as /proc/PID/maps does: "r-xp".
func (p Perms) String() string {
	out := []byte("---p")
	for i, c := range "rwx" {
		if p&(1<<i) != 0 {
			out[i] = byte(c)
		}
	}
	if p&Shared != 0 {
		out[3] = 's'
	}
	return string(out)
}

// A Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Start, End Addr // half-open
	Perms      Perms
	Offset     uint64 // in the file, bytes
	Dev        uint64 // as in stat(2); 0 if there is no file
	Inode      uint64
	Path       string // as the kernel writes it, without " (deleted)"; "[stack]", "[vdso]" and so on; not to be shown raw
	Deleted    bool   // the file no longer has this name
}

// Contains says whether the address lies in the mapping.
func (m Mapping) Contains(a Addr) bool { return m.Start <= a && a < m.End }

// Len is the length in bytes.
func (m Mapping) Len() uint64 { return uint64(m.End - m.Start) }

// FileBacked says whether the mapping shows a file (also a memfd or a deleted one).
func (m Mapping) FileBacked() bool { return m.Inode != 0 && strings.HasPrefix(m.Path, "/") }

// OwnMaps lists the mappings of this process.
func OwnMaps() ([]Mapping, error) {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	return ParseMaps(b)
}

// ReadMaps lists the mappings of a process.
func ReadMaps(pid int) ([]Mapping, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		if tid := other(pid); tid != 0 {
			b, err = os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/maps", pid, tid))
		}
	}
	if err != nil {
		return nil, err
	}
	return ParseMaps(b)
}

// OpenPagemap opens what the kernel tells of each page of a process.
func OpenPagemap(pid int) (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if errors.Is(err, unix.ESRCH) {
		if tid := other(pid); tid != 0 {
			return os.Open(fmt.Sprintf("/proc/%d/task/%d/pagemap", pid, tid))
		}
	}
	return f, err
}

// other is a thread of a process that has memory, where the leader has none any more: it has ended while others live. 0 if there is none.
func other(pid int) int {
	tids, _ := Tasks(pid)
	for _, tid := range tids {
		if !slices.Contains([]byte("ZX"), ThreadState(pid, tid)) {
			return tid
		}
	}
	return 0
}

// ParseMaps reads the text of /proc/PID/maps. It is read in stops too, and large programs have thousands of lines: nothing is made for a line but
// the path, and that once for those that follow each other.
func ParseMaps(b []byte) ([]Mapping, error) {
	out := make([]Mapping, 0, bytes.Count(b, []byte{'\n'}))
	var path []byte // as the last line has it
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		m, name, ok := parseMapping(line)
		if !ok {
			return nil, fmt.Errorf("unreadable line in maps: %q", line)
		}
		if last := len(out) - 1; last >= 0 && bytes.Equal(name, path) {
			m.Path, m.Deleted = out[last].Path, out[last].Deleted
		} else {
			m.Path, m.Deleted = strings.CutSuffix(unescapeMaps(string(name)), " (deleted)")
		}
		out, path, b = append(out, m), name, rest
	}
	return out, nil
}

// parseMapping reads "start-end perms offset major:minor inode   path"; the path may be absent and may hold spaces.
func parseMapping(line []byte) (m Mapping, path []byte, ok bool) {
	f := fields{rest: line, ok: true}
	m.Start, m.End = Addr(f.number('-', 16)), Addr(f.number(' ', 16))
	m.Perms = f.perms()
	m.Offset = f.number(' ', 16)
	major := f.number(':', 16)
	m.Dev = unix.Mkdev(uint32(major), uint32(f.number(' ', 16)))
	m.Inode = f.number(' ', 10)
	return m, bytes.TrimLeft(f.rest, " "), f.ok && m.Start < m.End
}

// fields are those of a line, taken one after the other. ok becomes false where one is not as it should be.
type fields struct {
	rest []byte
	ok   bool
}

// number takes a number and the byte behind it, which the end of the line may stand for.
func (f *fields) number(end byte, base uint64) (n uint64) {
	const most = 20 // digits of the largest number
	i := 0
	for ; i < len(f.rest) && f.rest[i] != end; i++ {
		digit := uint64(digits[f.rest[i]])
		if digit >= base || i == most {
			f.ok = false
			return 0
		}
		n = n*base + digit
	}
	f.ok = f.ok && i > 0
	f.rest = f.rest[min(i+1, len(f.rest)):]
	return n
}

// digits are the values of digits, 16 of a byte that is none.
var digits = func() (values [256]byte) {
	for i := range values {
		values[i] = 16
	}
	for value, digit := range []byte("0123456789abcdef") {
		values[digit] = byte(value)
	}
	return values
}()

// perms takes four letters and the space behind them.
func (f *fields) perms() (p Perms) {
	if f.ok = f.ok && len(f.rest) >= 5 && f.rest[4] == ' '; !f.ok {
		return 0
	}
	p = parsePerms(string(f.rest[:4]))
	f.rest = f.rest[5:]
	return p
}

// unescapeMaps undoes the one escape of /proc/PID/maps: a newline in a path is written \012.
func unescapeMaps(s string) string { return strings.ReplaceAll(s, `\012`, "\n") }

func parsePerms(s string) (p Perms) {
	for i, c := range "rwx" {
		if s[i] == byte(c) {
			p |= 1 << i
		}
	}
	if s[3] == 's' {
		p |= Shared
	}
	return p
}

// FindMapping gives the mapping that holds an address.
func FindMapping(maps []Mapping, a Addr) (Mapping, bool) {
	for _, m := range maps {
		if m.Contains(a) {
			return m, true
		}
	}
	return Mapping{}, false
}

// Executable says whether code may run in the mapping.
func (m Mapping) Executable() bool { return m.Perms&Exec != 0 }

// Writable says whether [addr, addr+n) is covered by writable mappings without a hole.
func Writable(maps []Mapping, addr Addr, n int) bool {
	end := addr + Addr(n)
	if end < addr {
		return false
	}
	for _, m := range maps {
		if m.Contains(addr) && m.Perms&Write != 0 {
			if end <= m.End {
				return true
			}
			addr = m.End
		}
	}
	return false
}
