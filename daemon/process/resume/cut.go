package resume

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// CutShort says whether a thread has stopped behind a blocking call that moved less than it was to, which it would not have done without us.
func (c *Calls) CutShort(r *unix.PtraceRegs) bool {
	if int64(r.Orig_rax) < 0 || int64(r.Rax) <= 0 {
		return false
	}
	call := raw.EnteredBy(r)
	if !call.Cuttable() && call.NR != unix.SYS_READ {
		return false
	}
	asked, ok := c.askedFor(call)
	return ok && r.Rax < asked && c.waitsForAll(call)
}

// askedFor is how many bytes a call is to move.
func (c *Calls) askedFor(call *raw.Blocked) (n uint64, ok bool) {
	switch call.NR {
	case unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_SENDTO, unix.SYS_RECVFROM:
		return call.Args[2], true
	case unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_VMSPLICE:
		return c.vectorLength(call.Args[1], call.Args[2])
	case unix.SYS_SENDMSG, unix.SYS_RECVMSG:
		var m [32]byte // the vector and its length follow the address in a struct msghdr
		if c.mem.Read(raw.Addr(call.Args[1]), m[:]) != nil {
			return 0, false
		}
		return c.vectorLength(raw.Uint64(m[16:]), raw.Uint64(m[24:]))
	case unix.SYS_GETRANDOM:
		return call.Args[1], true
	}
	return 0, false // what sendfile and splice are asked for may be more than there is
}

func (c *Calls) vectorLength(at, count uint64) (sum uint64, ok bool) {
	const most = 1024 // IOV_MAX
	b := make([]byte, 16*min(count, most))
	if c.mem.Read(raw.Addr(at), b) != nil {
		return 0, false
	}
	for ; len(b) > 0; b = b[16:] {
		sum += raw.Uint64(b[8:])
	}
	return sum, true
}

// waitsForAll: neither the descriptor nor the call says that less is welcome. A read waits for all from devices only.
func (c *Calls) waitsForAll(call *raw.Blocked) bool {
	const nonBlocking = unix.O_NONBLOCK
	switch call.NR {
	case unix.SYS_GETRANDOM:
		return true
	case unix.SYS_SENDTO:
		if call.Args[3]&unix.MSG_DONTWAIT != 0 {
			return false
		}
	case unix.SYS_SENDMSG:
		if call.Args[2]&unix.MSG_DONTWAIT != 0 {
			return false
		}
	case unix.SYS_READ:
		if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.pid, uint32(call.Args[0]))); err != nil || !strings.HasPrefix(link, "/dev/") || strings.HasPrefix(link, "/dev/pts/") {
			return false
		}
	}
	flags, ok := descriptorFlags(c.pid, call.Args[0])
	return ok && flags&nonBlocking == 0
}

// descriptorFlags are those with which a descriptor was opened, from /proc/PID/fdinfo/N.
func descriptorFlags(pid int, fd uint64) (flags uint64, ok bool) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, uint32(fd))) // without it nothing is known
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, "flags:"); found {
			_, err := fmt.Sscanf(strings.TrimSpace(rest), "%o", &flags)
			return flags, err == nil
		}
	}
	return 0, false
}
