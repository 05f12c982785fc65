package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ReceiveTimeout is after what time a receive on a socket of another process gives up (SO_RCVTIMEO), 0 if it never does.
// It needs the right to trace the process (else *NotPermitted) and Linux 5.6 (else *Unsupported); the error wraps ErrGone if
// the process has ended. The socket is held for the moment that the question takes.
func ReceiveTimeout(pid, fd int) (time.Duration, error) {
	what := fmt.Sprintf("asking for the timeout of socket %d of process %d", fd, pid)
	own, err := copyFD(pid, fd)
	if err == unix.ENOSYS {
		return 0, &Unsupported{What: what, Needs: "Linux 5.6 or later (pidfd_getfd)"}
	}
	if err != nil {
		return 0, explain(what, err)
	}
	defer unix.Close(own)
	tv, err := unix.GetsockoptTimeval(own, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	if err != nil {
		return 0, explain(what, err)
	}
	return time.Duration(tv.Nano()), nil
}
