package process

import (
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/syscalls"
)

// TestIsWithin: who sleeps is within its call; who waits for a CPU as well, unless the kernel may not have the call, or a filter have answered for it. That
// the kernel has a wait is known when somebody slept in it who has no filter, which may have another process asked instead.
func TestIsWithin(t *testing.T) {
	const known, unknown, wait, lock = unix.SYS_PPOLL, unix.SYS_EPOLL_PWAIT2, 0, 6 // FUTEX_LOCK_PI
	waits[unknown].Store(false)
	for nr, filters := range map[uint64]bool{known: false, unix.SYS_FUTEX: false, unknown: true} {
		noteWait(&syscalls.Sleeping{Regs: unix.PtraceRegs{Orig_rax: nr}, Filters: filters})
	}
	for _, c := range []struct {
		nr, op         uint64
		woken, filters bool
		want           bool
	}{
		{unknown, 0, false, true, true},
		{unknown, 0, true, false, false},
		{known, 0, true, false, true},
		{known, 0, true, true, false},
		{unix.SYS_FUTEX, wait, true, false, true},
		{unix.SYS_FUTEX, lock, true, false, false},
		{unix.SYS_SENDFILE, 0, true, false, true},
		{unix.SYS_SENDFILE, 0, true, true, false},
		{unix.SYS_WRITE, 0, true, true, true},
	} {
		is := syscalls.Sleeping{Regs: unix.PtraceRegs{Orig_rax: c.nr, Rsi: c.op}, Woken: c.woken, Filters: c.filters}
		if got := isWithin(&is); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
