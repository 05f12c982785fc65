package descriptors

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/daemon/program"
)

const (
	keptBack   = 16 // descriptors that leaving a target takes at most at once
	ofSession  = 16 // those of a session that are no target's, besides one for each processor
	ofTarget   = 6  // those of a target, besides its files and their debug files
	plentyOpen = 4096
)

// A Reserve is descriptors that are open for nothing but to be closed when others are needed. Without Release they stay open.
type Reserve []int

// Take keeps back what leaving a target takes. It is called once, before the first target is attached to. The error says what to do where a
// session could not open what it needs.
func (r *Reserve) Take() error {
	if err := openable(keptBack + ofSession + runtime.NumCPU()); err != nil {
		return err
	}
	r.keep(keptBack)
	return nil
}

// keep takes n descriptors; fewer if there are no more.
func (r *Reserve) keep(n int) {
	for len(*r) < n {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		*r = append(*r, fd)
	}
}

// Release closes them. It may be called more than once.
func (r *Reserve) Release() {
	for _, fd := range *r {
		unix.Close(fd)
	}
	*r = nil
}

// openable is an error unless n more descriptors can be opened now.
func openable(n int) error {
	var trial Reserve
	defer trial.Release()
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

// RoomFor is an error where a target needs more descriptors than there are. With the first of a session those of the session are needed too.
func RoomFor(pid int, first bool) error {
	n := ofTarget + 2*codeFiles(pid)
	if first {
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
