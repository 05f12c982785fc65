package main

import (
	"os"
	"strconv"
	"syscall"

	"culprit/internal/procfs"
)

// A process is named for good by its number and the time at which it was started.
type process struct {
	pid   int
	start uint64
}

// descendants are the children of a process, and theirs.
func descendants(pid int) []process {
	parents := map[int][]process{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := procfs.ReadStat(n); err == nil {
			parents[s.Parent] = append(parents[s.Parent], process{n, s.Start})
		}
	}
	var all []process
	for next := parents[pid]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, parents[next[0].pid]...)
	}
	return all
}

// alive reports whether the process runs, rather than another one with its number.
func (p process) alive() bool {
	s, err := procfs.ReadStat(p.pid)
	return err == nil && s.Start == p.start && s.State != 'Z'
}

// kill ends the process.
func (p process) kill() {
	if p.alive() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // fails if it has ended meanwhile
	}
}
