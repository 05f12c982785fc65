package process

import (
	"golang.org/x/sys/unix"
)

// Seals are those of a memory file that the target has open; ok is false if it is none that could have any, or if that is not known. Nothing is
// opened, and nothing else is asked of what is no such file.
func (p *Process) Seals(fd int) (seals int, ok bool) {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(pidfd)
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return 0, false
	}
	defer func() { go unix.Close(own) }() // it may be anything, whose end somebody makes us wait for
	seals, err = unix.FcntlInt(uintptr(own), unix.F_GET_SEALS, 0)
	return seals, err == nil
}
