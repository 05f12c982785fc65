package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
)

// Who has instrumented a process is what the head of the segment in it says, which is memory of that process: it may name anybody. It is
// believed only if whoever is named maps the very memory that the head lies in.

// Owner tells who has instrumented a process, from the head that it carries. alive says that this culprit still runs and has the process;
// found that something of a culprit is there, whatever state it is in.
func Owner(pid int) (daemonPID int, alive, found bool, err error) {
	p, err := readable(pid)
	if err != nil {
		return 0, false, false, err
	}
	defer p.Close()
	return OwnerOf(p)
}

// readable opens a process of which only the memory is read. To ask whether it may be traced would take it for a moment from a culprit
// that has it.
func readable(pid int) (*process.Process, error) {
	p, err := process.Look(pid)
	if err == nil && p.Blind() {
		p.Close()
		return process.Open(pid) // which says why not
	}
	return p, err
}

// OwnerOf is Owner for an open process. A head that cannot be believed names nobody, and nobody who is alive has left it.
func OwnerOf(p *process.Process) (daemonPID int, alive, found bool, err error) {
	h, m, err := ReadHeader(p)
	switch {
	case errors.Is(err, ErrNone):
		return 0, false, false, nil
	case err != nil && !errors.Is(err, trampoline.ErrNoSegment):
		return 0, false, true, err
	case h == nil:
		return 0, false, true, nil
	}
	return h.DaemonPID, h.DaemonStart != 0 && process.StartTime(h.DaemonPID) == h.DaemonStart && mapsToo(h.DaemonPID, m), true, nil
}

// An InUse says that a culprit that lives has a process, so that what is in it must stay.
type InUse struct{ PID, Owner int }

// Error says what to do.
func (u *InUse) Error() string {
	return fmt.Sprintf("process %d is being measured by process %d; to end that: culprit detach %d", u.PID, u.Owner, u.PID)
}

// NotInUse returns an *InUse if a culprit that lives has the process. Only in a stop does the answer hold: until then another one may map its segment.
// What a child has of its parent's culprit is not in use. left says that there is something that nobody has any more: while it is there, no culprit begins.
func NotInUse(p *process.Process) (left bool, err error) {
	owner, alive, found, err := OwnerOf(p)
	switch {
	case alive && !Forked(p):
		return false, &InUse{p.PID(), owner}
	case found:
		return !alive, nil // a head that cannot be read is nobody's
	}
	return false, err
}

// Present reports whether there is anything of a culprit in a process: memory, a page of a tracer that was killed, or descriptors. The
// process is not stopped for it.
func Present(pid int) (bool, error) {
	p, err := readable(pid)
	if err != nil {
		return false, err
	}
	defer p.Close()
	maps, err := p.Maps()
	if err != nil || len(MappingsIn(p, maps)) > 0 || len(process.Leftovers(maps)) > 0 {
		return err == nil, err
	}
	fds, err := Descriptors(p)
	return len(fds) > 0, err
}

// mapsToo reports whether a process maps the file that is mapped somewhere else, and may write to it. Of one that may not be looked at it is believed.
func mapsToo(pid int, m process.Mapping) bool {
	ok, err := process.MapsFile(pid, m.Dev, m.Inode)
	return ok || errors.Is(err, fs.ErrPermission)
}

// errNotProven says that a process is named as the culprit of another one, and not shown to be that.
var errNotProven = errors.New("nothing shows that it is a culprit")

// EndOwner asks the culprit that has instrumented a process to end, by SIGINT, and returns who that is. Nobody is asked because the
// process names him: he must map the memory that the head in the process lies in, and that memory must be his, which nobody without his
// rights can bring about. Errors: unix.EPERM where that process may not be looked at or signalled.
func EndOwner(pid int) (owner int, err error) {
	p, err := readable(pid)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	h, m, err := ReadHeader(p)
	if err != nil {
		return 0, err
	}
	owner = h.DaemonPID
	pidfd, err := unix.PidfdOpen(owner, 0) // from here on its number means this process
	if err != nil {
		return owner, fmt.Errorf("process %d: %w", owner, err)
	}
	defer unix.Close(pidfd)
	if process.StartTime(owner) != h.DaemonStart {
		return owner, fmt.Errorf("process %d: %w", owner, unix.ESRCH)
	}
	ok, err := process.MapsFile(owner, m.Dev, m.Inode)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return owner, unix.EPERM
	case err != nil:
		return owner, err
	case !ok || !madeBy(p, m, owner):
		return owner, fmt.Errorf("process %d names process %d as the culprit that measures it, and %w: it is left alone", pid, owner, errNotProven)
	}
	return owner, unix.PidfdSendSignal(pidfd, unix.SIGINT, nil, 0)
}

// madeBy reports whether the memory that a target maps is of the user that a process runs as. Who may not look sees to it by the rights that
// he lacks: he can signal his own processes only.
func madeBy(p *process.Process, m process.Mapping, pid int) bool {
	if os.Geteuid() != 0 {
		return true
	}
	uid, err := p.MappingOwner(m)
	at, err2 := process.UserOf(pid)
	return err == nil && err2 == nil && uid == at
}
