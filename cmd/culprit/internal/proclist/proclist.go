// Package proclist lists the processes of this machine and finds those that a user names.
//
// It only reads /proc and imports nothing of the house but internal/safetext. Its functions may be called from any
// goroutine; what they return is a copy.
package proclist

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"culprit/internal/procfs"
)

// limit bounds what is read of one file of /proc; a command line may be megabytes long.
const limit = 4096

// A Proc is one process as /proc shows it. Names are as the process set them: clean them before they are shown.
type Proc struct {
	PID     int
	PPID    int
	UID     int
	Comm    string // at most 15 bytes
	Exe     string // path of the executable; "" for kernel threads and where it may not be read
	Args    []string
	State   byte   // 'R', 'S', 'D', 'Z', 'T', ...
	Threads int    // 0 or more
	Ticks   uint64 // CPU time used, user and system, in clock ticks (100 per second)
	Start   uint64 // clock ticks between boot and the start of the process
}

// Name is what a user would call the process: the base name of its executable, else its comm.
func (p *Proc) Name() string {
	if p.Exe != "" {
		return filepath.Base(strings.TrimSuffix(p.Exe, " (deleted)"))
	}
	return p.Comm
}

// List reads all processes that are visible, in order of their pid. Processes that end meanwhile are left out.
func List() ([]Proc, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var list []Proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := Read(pid); err == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Proc) int { return cmp.Compare(a.PID, b.PID) })
	return list, nil
}

// Own returns the user processes (no kernel threads, no zombies, not this process) that belong to this user, or to anybody
// for root; the busiest since their start first.
func Own() ([]Proc, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	uid := os.Getuid()
	own := slices.DeleteFunc(all, func(p Proc) bool {
		return p.PID == os.Getpid() || p.State == 'Z' || len(p.Args) == 0 || (uid != 0 && p.UID != uid)
	})
	slices.SortStableFunc(own, func(a, b Proc) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return own, nil
}

// Read reads one process; the error is of package os if there is none of that pid.
func Read(pid int) (Proc, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(dir)
	if err != nil {
		return Proc{}, err
	}
	stat, err := readSome(dir + "/stat")
	if err != nil {
		return Proc{}, err
	}
	p := Proc{PID: pid}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		p.UID = int(st.Uid)
	}
	st, ok := procfs.ParseStat(stat)
	if !ok {
		return Proc{}, os.ErrNotExist
	}
	p.Comm, p.State, p.PPID, p.Threads, p.Start, p.Ticks = string(st.Name), st.State, st.Parent, st.Threads, st.Start, st.User+st.System
	p.Exe, _ = os.Readlink(dir + "/exe")
	args, _ := readSome(dir + "/cmdline")
	p.Args = splitArgs(args)
	return p, nil
}

func splitArgs(b []byte) []string {
	s := strings.TrimRight(string(b), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
