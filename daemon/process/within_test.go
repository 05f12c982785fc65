package process

import (
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/syscalls"
)

// TestIsWithin: who sleeps is within its call; who waits for a CPU as well, unless the kernel may not have the call, or a filter have answered for it.
func TestIsWithin(t *testing.T) {
	for _, c := range []struct {
		nr             uint64
		woken, filters bool
		want           bool
	}{
		{unix.SYS_EPOLL_PWAIT2, false, true, true},
		{unix.SYS_EPOLL_PWAIT2, true, false, false},
		{unix.SYS_SENDFILE, true, false, true},
		{unix.SYS_SENDFILE, true, true, false},
		{unix.SYS_WRITE, true, true, true},
	} {
		is := syscalls.Sleeping{Regs: unix.PtraceRegs{Orig_rax: c.nr}, Woken: c.woken, Filters: c.filters}
		if got := isWithin(&is); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
