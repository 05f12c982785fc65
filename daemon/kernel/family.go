package kernel

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// A Parentage says whose child a process is.
type Parentage struct {
	PID    int
	Parent int    // 0 where the parent is not visible here
	Start  uint64 // ticks of 10 ms since boot at which the process started; with PID it names the process
}

// ParentOf reads whose child a process is; ok is false if there is none of that number, if it is a thread, or if it has ended.
func ParentOf(pid int) (p Parentage, ok bool) {
	if !leads(pid) {
		return Parentage{}, false
	}
	var buf [statSize]byte
	text, err := readAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return Parentage{}, false
	}
	s, ok := procfs.ParseStat(text)
	if !ok || s.State == 'Z' || s.State == 'X' {
		return Parentage{}, false
	}
	return Parentage{PID: pid, Parent: s.Parent, Start: s.Start}, true
}

// leads tells a process from a thread, whose files in /proc look the same: only a process has a handle of this kind.
func leads(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ENOSYS || err == unix.EMFILE || err == unix.ENFILE
	}
	unix.Close(fd)
	return true
}

// Processes lists all processes of the machine that are visible here, in no order.
func Processes() (list []Parentage) {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	pids, err := listTIDs(dir, nil, make([]byte, 32<<10))
	if err != nil {
		return nil
	}
	for _, pid := range pids {
		if p, ok := ParentOf(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// Births tells which processes have begun, without looking at every process each time: the kernel says which number it gave out
// last (/proc/loadavg, field 5; numbers go round). It belongs to one goroutine at a time.
type Births struct {
	before, last int
	begun        bool
	load         *os.File // /proc/loadavg
}

// manyBirths is how many new numbers are looked at one by one; with more of them all processes are listed.
const manyBirths = 3000

// Next lists processes that have begun since the last call but one, some perhaps twice; at the first call all there are. Those
// that began and ended in between, and threads, are left out. Nothing that begins before it returns is missed by the call after.
func (b *Births) Next() []Parentage {
	newest, ok := b.newest()
	if ok && b.begun && newest == b.last && b.last == b.before {
		return nil
	}
	from := b.before
	whole := !ok || !b.begun || newest < from || newest-from > manyBirths
	b.before, b.last, b.begun = b.last, newest, true
	if whole {
		return Processes()
	}
	var list []Parentage
	for pid := from + 1; pid <= newest; pid++ {
		if p, ok := ParentOf(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// Close closes the file that it reads. It may be called twice.
func (b *Births) Close() {
	if b.load != nil {
		b.load.Close()
		b.load = nil
	}
}

// Passing tells whether somewhere on the machine a process or a thread has begun and ended meanwhile: whether a number that the kernel gave out is of
// nobody any more. It belongs to one goroutine at a time.
type Passing struct {
	births Births
	last   int
	begun  bool
}

// manyPassing is how many numbers are looked at one by one; with more of them it is taken for certain.
const manyPassing = 256

// Mark begins a new interval.
func (p *Passing) Mark() { p.last, p.begun = p.births.newest() }

// Any reports whether somebody came and went since the last Mark; true where that cannot be told.
func (p *Passing) Any() bool {
	newest, ok := p.births.newest()
	if !ok || !p.begun || newest < p.last || newest-p.last > manyPassing {
		return true
	}
	for id := p.last + 1; id <= newest; id++ {
		if unix.Access("/proc/"+strconv.Itoa(id), unix.F_OK) != nil {
			return true
		}
	}
	return false
}

// Close closes the file that it reads. It may be called twice.
func (p *Passing) Close() { p.births.Close() }

// newest is the number that the kernel gave out last, to a process or a thread.
func (b *Births) newest() (int, bool) {
	if b.load == nil {
		f, err := os.Open("/proc/loadavg")
		if err != nil {
			return 0, false
		}
		b.load = f
	}
	var buf [128]byte
	size, err := b.load.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return 0, false
	}
	return lastNumber(buf[:size])
}

// lastNumber reads the number at the end of a line.
func lastNumber(text []byte) (int, bool) {
	end := len(text)
	for end > 0 && (text[end-1] == '\n' || text[end-1] == ' ') {
		end--
	}
	from := end
	for from > 0 && text[from-1] != ' ' {
		from--
	}
	n, err := strconv.Atoi(string(text[from:end]))
	return n, err == nil && n > 0
}
