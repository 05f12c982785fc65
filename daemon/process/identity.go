package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// use guards the descriptors against Close for the time of one operation.
func (p *Process) use() (release func(), err error) {
	p.mu.RLock()
	if p.closed {
		p.mu.RUnlock()
		return nil, ErrClosed
	}
	return p.mu.RUnlock, nil
}

// alive fails once the process has ended. As long as it has not, its number cannot belong to another one: so whatever was read through
// /proc/PID *before* a successful call came from the right process.
func (p *Process) alive() error {
	if readable(p.pidfd) {
		return fmt.Errorf("process %d: %w", p.pid, ErrTargetExited)
	}
	return nil
}

// gone replaces an error by ErrTargetExited if that explains it; nil stays nil.
func (p *Process) gone(err error) error {
	if err == nil {
		return nil
	}
	if e := p.alive(); e != nil {
		return e
	}
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", p.pid, ErrTargetExited)
	}
	return err
}

// readable polls one descriptor without waiting.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n == 1
	}
}

// An execMark tells one program image from the next in the same process.
type execMark struct {
	dev, inode uint64
	auxv       []byte // holds the entry, the load addresses and 16 random bytes' address
}

func markExec(pid int) (execMark, error) {
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/exe", pid), &st); err != nil {
		return execMark{}, err
	}
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return execMark{}, err
	}
	return execMark{dev: st.Dev, inode: st.Ino, auxv: auxv}, nil
}

// CheckExec returns ErrTargetExeced if the process runs another program image than when it was opened, ErrTargetExited if it has ended.
func (p *Process) CheckExec() error {
	release, err := p.use()
	if err != nil {
		return err
	}
	defer release()
	return p.checkExec()
}

func (p *Process) checkExec() error {
	if err := p.alive(); err != nil {
		return err
	}
	// The descriptor of the memory is bound to the old address space, which an exec empties: reading gives nothing then.
	if entry, ok := auxValue(p.exec.auxv, auxEntry); ok {
		var b [1]byte
		if n, err := unix.Pread(p.mem, b[:], int64(entry)); err == nil && n == 0 {
			return p.execed()
		}
	}
	now, err := markExec(p.pid)
	if errors.Is(err, unix.ENOENT) || err == nil && len(now.auxv) == 0 {
		return p.alive() // the leader has ended, other threads live: no exec can have happened, it would have replaced the leader
	}
	if err != nil {
		return p.gone(err)
	}
	if now.dev != p.exec.dev || now.inode != p.exec.inode || !bytes.Equal(now.auxv, p.exec.auxv) {
		return p.execed()
	}
	return p.alive()
}

func (p *Process) execed() error {
	if err := p.alive(); err != nil {
		return err
	}
	return fmt.Errorf("process %d: %w", p.pid, ErrTargetExeced)
}

const auxEntry = 9 // AT_ENTRY

func auxValue(auxv []byte, key uint64) (uint64, bool) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if le64(auxv) == key {
			return le64(auxv[8:]), true
		}
	}
	return 0, false
}
