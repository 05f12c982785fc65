package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"culprit/daemon/process/raw"
	"culprit/internal/procfs"
)

// A Refused says that something cannot be done safely, and why.
type Refused struct{ Point, Reason string }

// Error names the point and the reason.
func (e *Refused) Error() string { return e.Point + ": " + e.Reason }

// StartTime is when a process started, in clock ticks since boot (field 22 of /proc/PID/stat); 0 if there is no such process.
// A pid and its start time together name a process for good.
func StartTime(pid int) uint64 {
	st, err := procfs.ReadStat(pid)
	if err != nil || st.State == 'Z' {
		return 0
	}
	return st.Start
}

// Touch has the kernel give the target a copy of its own of the text page at addr, by writing one byte over itself while the
// target runs. That changes nothing that it can see, and takes the costly part of a first write out of the time in which
// the world is stopped.
func (p *Process) Touch(addr raw.Addr) error {
	release, err := p.use()
	if err != nil {
		return err
	}
	defer release()
	if shared, err := raw.SharedOf(p.pid, []raw.Addr{addr}); len(shared) > 0 || err != nil {
		return p.gone(err) // there is no copy to be made of what is shared
	}
	var b [1]byte
	if err := p.mem.Read(addr, b[:]); err != nil {
		return p.gone(err)
	}
	if n, err := p.mem.Pwrite(b[:], addr); err != nil {
		return p.gone(&raw.WriteError{Addr: addr + raw.Addr(n), Err: err})
	}
	return nil
}

// Descriptors lists what the target has open: descriptor and what its link in /proc/PID/fd says, which is not to be shown raw.
func (p *Process) Descriptors() (map[int]string, error) {
	release, err := p.use()
	if err != nil {
		return nil, err
	}
	defer release()
	dir := fmt.Sprintf("/proc/%d/fd", p.pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, p.gone(err)
	}
	open := map[int]string{}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		link, err := os.Readlink(dir + "/" + e.Name())
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, p.gone(err)
		}
		open[fd] = link
	}
	return open, nil
}

// Invoked lists the names under which the target may have been started: its own name as the kernel keeps it (cut at 15 bytes)
// and the last part of its first argument, which the target may have changed. Neither holds a slash.
func (p *Process) Invoked() (names []string) {
	if st, err := procfs.ReadStat(p.pid); err == nil && len(st.Name) > 0 && !bytes.ContainsRune(st.Name, '/') {
		names = append(names, raw.CleanName(string(st.Name)))
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	if err != nil || len(args) > 1<<20 {
		return names
	}
	first, _, _ := strings.Cut(string(args), "\x00")
	first, _, _ = strings.Cut(first, " ")
	if n := first[strings.LastIndexByte(first, '/')+1:]; n != "" {
		names = append(names, n)
	}
	return names
}
