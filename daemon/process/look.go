package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
)

// Look takes hold of a running process for reading only: it is never traced, stopped or written to, so that it does not matter
// whether another program traces it or a filter forbids it everything. The right to read its mappings and the file it runs is
// enough; where its memory may not be read, Blind says so. Stop and WriteData fail.
//
// The errors are ErrNotFound, ErrKernelThread, ErrZombie, *Unsupported (32-bit programs) and *NotPermitted.
func Look(pid int) (*Process, error) { return patiently(pid, lookOnce) }

func lookOnce(pid int) (*Process, error) {
	st, err := checkExists(pid)
	if err != nil {
		return nil, err
	}
	if err := checkClass(pid); err != nil {
		return nil, err
	}
	p := &Process{pid: pid, start: st.Start, pidfd: -1, mem: raw.File{FD: -1}, looking: true, done: make(chan struct{})}
	p.calls = resume.New(pid, &p.mem, p.takeFD)
	if err := p.openToRead(); err != nil {
		p.closeHandles()
		return nil, err
	}
	go p.watchExit()
	return p, nil
}

// openToRead opens what Look needs.
func (p *Process) openToRead() (err error) {
	if err := p.openPidfd(); err != nil {
		return err
	}
	if p.mem.FD, err = unix.Open(fmt.Sprintf("/proc/%d/mem", p.pid), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		if p.mem.FD = -1; !denied(err) {
			return p.openFailed("memory", err)
		}
	}
	if p.exec, err = markExec(p.pid); err != nil {
		return p.openFailed("program", err)
	}
	if _, err := raw.ReadMaps(p.pid); err != nil {
		return p.openFailed("mappings", err)
	}
	return p.alive()
}

func denied(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) }

// Blind reports whether the memory of the target cannot be read, nor what its threads wait in: the kernel asks for the right to
// trace it for both.
func (p *Process) Blind() bool { return p.mem.FD < 0 }

// onlyLooking is the answer to whoever wants more of a process that was opened by Look.
func (p *Process) onlyLooking(what string) error {
	if !p.looking {
		return nil
	}
	return &raw.Unsupported{What: fmt.Sprintf("%s process %d, which was opened for reading only", what, p.pid)}
}
