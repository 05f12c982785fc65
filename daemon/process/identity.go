package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/procfs"
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
		return p.exited()
	}
	return nil
}

// gone replaces an error by ErrTargetExited or ErrTargetExeced if that explains it; nil stays nil.
func (p *Process) gone(err error) error {
	if err == nil {
		return nil
	}
	if e := p.checkExec(); e != nil {
		return e
	}
	if errors.Is(err, unix.ESRCH) {
		return p.exited()
	}
	return err
}

// exited says that the process has ended; or that it executes another program, where that is seen to run: in the middle of an exec its handle and its
// threads look as if it had ended. One that is being killed looks for a moment as if it lived.
func (p *Process) exited() error {
	for end := time.Now().Add(settling); ; time.Sleep(time.Millisecond) {
		lives, settled := state(p.pid, p.start)
		switch {
		case settled && lives && p.isAnother():
			return p.becameAnother()
		case settled && !lives, time.Now().After(end):
			return fmt.Errorf("process %d: %w", p.pid, ErrTargetExited)
		}
	}
}

// isAnother reports whether the process is seen to run another program than when it was opened.
func (p *Process) isAnother() bool {
	now, err := markExec(p.pid)
	return err == nil && len(now.auxv) > 0 && p.exec.differs(now)
}

// settling is how long the main thread of a process that executes a program may have ended, and no other have taken its place, before that counts as
// the end: on a busy machine the others take their time to end.
const settling = 300 * time.Millisecond

// Lives reports whether the process goes on, with whatever program. In the middle of an exec it waits, for settling at most. It may be asked after Close.
func (p *Process) Lives() bool {
	for end := time.Now().Add(settling); ; time.Sleep(time.Millisecond) {
		lives, settled := state(p.pid, p.start)
		if settled {
			return lives
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// Lives reports whether the process that has this number, and has begun at that tick, has not ended. It waits for nothing: one that is in the middle of an exec
// lives, and so does one that is just being killed.
func Lives(pid int, start uint64) bool {
	lives, _ := state(pid, start)
	return lives
}

// state tells whether a process lives. It is not settled while the main thread has ended and others have not: then it ends, or executes a program.
func state(pid int, start uint64) (lives, settled bool) {
	st, err := procfs.ReadStat(pid)
	switch {
	case err != nil || st.Start != start || st.State == 'X':
		return false, true
	case st.State == 'Z':
		return st.Threads > 1, st.Threads <= 1
	}
	return true, true
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

func (m execMark) differs(n execMark) bool {
	return n.dev != m.dev || n.inode != m.inode || !bytes.Equal(n.auxv, m.auxv)
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

// CheckMemory is CheckExec for who asks often, at a third of the price: it does not see the exec of a process while another one shares the
// memory that it had.
func (p *Process) CheckMemory() error {
	release, err := p.use()
	if err != nil {
		return err
	}
	defer release()
	if p.mem.FD < 0 || p.memoryEmptied() {
		return p.checkExec()
	}
	return p.alive()
}

func (p *Process) checkExec() error {
	if err := p.alive(); err != nil {
		return err
	}
	emptied := p.memoryEmptied()
	now, err := markExec(p.pid)
	// No program: the leader has ended. If other threads live, no exec has happened, since it would have replaced the leader.
	none := errors.Is(err, unix.ENOENT) || err == nil && len(now.auxv) == 0
	switch {
	case emptied && (none || errors.Is(err, unix.ESRCH)):
		return p.exited()
	case emptied:
		return p.execed()
	case none:
		return p.alive()
	case errors.Is(err, unix.ESRCH):
		return p.exited()
	case err != nil:
		return err
	case p.exec.differs(now):
		return p.execed()
	}
	return p.alive()
}

// memoryEmptied says whether the address space that was opened has no user any more: the process has ended or executed another program.
func (p *Process) memoryEmptied() bool {
	entry, ok := auxValue(p.exec.auxv, auxEntry)
	if !ok || p.mem.FD < 0 {
		return false
	}
	var b [1]byte
	n, err := unix.Pread(p.mem.FD, b[:], int64(entry))
	return err == nil && n == 0
}

func (p *Process) execed() error {
	if err := p.alive(); err != nil {
		return err
	}
	return p.becameAnother()
}

func (p *Process) becameAnother() error { return fmt.Errorf("process %d: %w", p.pid, ErrTargetExeced) }

// What the kernel tells a program of itself when it starts it.
const (
	auxLoader = 7 // AT_BASE
	auxEntry  = 9 // AT_ENTRY
)

// Entry is where the program began to run, 0 if that is not known.
func (p *Process) Entry() raw.Addr { return p.aux(auxEntry) }

// Loader is where the kernel has mapped what loads the program's libraries, 0 if it has none.
func (p *Process) Loader() raw.Addr { return p.aux(auxLoader) }

func (p *Process) aux(key uint64) raw.Addr {
	at, _ := auxValue(p.exec.auxv, key)
	return raw.Addr(at)
}

func auxValue(auxv []byte, key uint64) (uint64, bool) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if raw.Uint64(auxv) == key {
			return raw.Uint64(auxv[8:]), true
		}
	}
	return 0, false
}
