package daemon

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/daemon/program"
)

// To leave a target takes descriptors: its mappings, its threads and the files of its code are opened for it. A session that has used up what
// this process may open would leave its probes in. So some are kept back from the first attach to the end, and an attach for which the
// others would not do is refused.

const (
	keptBack   = 16 // descriptors that leaving a target takes at most at once
	ofSession  = 16 // those of a session that are no target's, besides one for each processor
	ofTarget   = 6  // those of a target, besides its files and their debug files
	plentyOpen = 4096
)

// A reserve is descriptors that are open for nothing but to be closed when others are needed. It is used by one goroutine at a time.
type reserve []int

// keep takes n descriptors; fewer if there are no more.
func (r *reserve) keep(n int) {
	for len(*r) < n {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		*r = append(*r, fd)
	}
}

// release closes them. It may be called more than once.
func (r *reserve) release() {
	for _, fd := range *r {
		unix.Close(fd)
	}
	*r = nil
}

// openable is an error unless n more descriptors can be opened now.
func openable(n int) error {
	var trial reserve
	defer trial.release()
	if trial.keep(n); len(trial) == n {
		return nil
	}
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || lim.Cur > plentyOpen {
		return fmt.Errorf("%d more files have to be opened, and only %d can be; close some, or raise the limit (ulimit -n, sysctl fs.file-max)", n, len(trial))
	}
	return fmt.Errorf("this program may have %d files open at once (ulimit -n), and %d more than it has are needed to measure this and to leave it again; try: ulimit -n %d",
		lim.Cur, n, max(1024, 2*int(lim.Cur)))
}

// keepReserve is called once, before the first target is attached to.
func (d *Daemon) keepReserve() error {
	if err := openable(keptBack + ofSession + runtime.NumCPU()); err != nil {
		return err
	}
	d.reserve.keep(keptBack)
	return nil
}

// roomFor is an error where a target needs more descriptors than there are.
func (d *Daemon) roomFor(pid int) error {
	n := ofTarget + 2*codeFiles(pid)
	if len(d.targets) == 0 {
		n += ofSession + runtime.NumCPU()
	}
	return openable(n)
}

// codeFiles is how many files have code that is mapped into a process, at most as many as are opened.
func codeFiles(pid int) int {
	p, err := process.Look(pid)
	if err != nil {
		return 0 // to open it for more will say why
	}
	defer p.Close()
	maps, _ := p.Maps()
	files := map[program.FileKey]bool{}
	for _, m := range maps {
		if m.Executable() && m.Inode != 0 {
			files[program.FileKey{Dev: m.Dev, Inode: m.Inode}] = true
		}
	}
	return min(len(files), program.MaxObjects)
}
