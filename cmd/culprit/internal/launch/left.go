package launch

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// A program that goes into the background ends at once, and a process that it has left behind does the work. As long as nobody measures the
// program, what it leaves behind becomes a child of this process instead of one of init: so it is found.

// adopt says whether processes whose parents end become children of this process, where they descend from it.
func adopt(on uintptr) { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, on, 0, 0, 0) } // where it fails they are init's, and are not found

// Left are the processes that the program has left behind, if it has ended. End ends them from now on.
func (p *Program) Left() (pids []int) {
	for _, pid := range p.adopted() {
		st, err := procfs.ReadStat(pid)
		if err != nil || st.State == 'Z' {
			continue
		}
		if process, err := os.FindProcess(pid); err == nil {
			p.left, pids = append(p.left, process), append(pids, pid)
		}
	}
	return pids
}

// Measured says that somebody follows the program, and what it leaves behind from now on. The children that this process has got are waited for
// when they end.
func (p *Program) Measured() {
	if !p.adopts {
		return
	}
	adopt(0)
	for _, pid := range p.adopted() {
		go func() {
			awaitEnd(pid)
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}()
	}
}

// signalLeft sends a signal to those that Left has found, and says whether any is there.
func (p *Program) signalLeft(sig os.Signal) (any bool) {
	for _, process := range p.left {
		any = process.Signal(sig) == nil || any
	}
	return any
}

// adopted are the children of this process beside p: it has started no others but itself.
func (p *Program) adopted() (pids []int) {
	if !p.adopts {
		return nil // there may be others, whose ends somebody else waits for
	}
	own, err := os.Stat("/proc/self/exe")
	entries, listed := os.ReadDir("/proc")
	if err != nil || listed != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == p.PID {
			continue
		}
		if st, err := procfs.ReadStat(pid); err != nil || st.Parent != os.Getpid() {
			continue
		}
		if exe, err := os.Stat("/proc/" + e.Name() + "/exe"); err != nil || !os.SameFile(exe, own) { // an error: it has ended; a helper of ours is this program again
			pids = append(pids, pid)
		}
	}
	return pids
}
