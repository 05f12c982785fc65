package readiness

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
)

// Memory reads what a process has at an address.
type Memory interface {
	ReadMem(addr process.Addr, b []byte) error
}

// most is how many descriptors are looked at: with more of them it is an event loop.
const most = 16

// Layouts, by linux/poll.h and linux/posix_types.h.
const (
	pollSize = 8 // int fd; short events, revents
	setBits  = 1024
)

// descriptors are those that a call waits for, at most most+1 of them; ok is false where they cannot be read or it is no such call.
func descriptors(pid int, m Memory, call kernel.BlockedCall) (fds []int, ok bool) {
	switch call.NR {
	case unix.SYS_POLL, unix.SYS_PPOLL:
		return polled(m, call.Args[0], call.Args[1])
	case unix.SYS_SELECT, unix.SYS_PSELECT6:
		return selected(m, call)
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2:
		return registered(pid, int(int32(call.Args[0])))
	}
	return nil, false
}

func polled(m Memory, array, n uint64) (fds []int, ok bool) {
	buf := make([]byte, pollSize*min(n, most+1))
	if len(buf) > 0 && m.ReadMem(process.Addr(array), buf) != nil {
		return nil, false
	}
	for ; len(buf) > 0; buf = buf[pollSize:] {
		if fd := int32(binary.LittleEndian.Uint32(buf)); fd >= 0 {
			fds = append(fds, int(fd))
		}
	}
	return fds, true
}

// selected reads the first set that is not empty: of those that are to be read, to be written, or looked at for what is exceptional.
func selected(m Memory, call kernel.BlockedCall) (fds []int, ok bool) {
	n := min(call.Args[0], setBits)
	for _, set := range call.Args[1:4] {
		buf := make([]byte, (n+63)/64*8)
		if set == 0 || len(buf) == 0 {
			continue
		}
		if m.ReadMem(process.Addr(set), buf) != nil {
			return nil, false
		}
		for i := 0; i < len(buf) && len(fds) <= most; i += 8 {
			for word := binary.LittleEndian.Uint64(buf[i:]); word != 0; word &= word - 1 {
				fds = append(fds, i*8+bits.TrailingZeros64(word))
			}
		}
		if len(fds) > 0 {
			break
		}
	}
	return fds, true
}

// registered reads from /proc/PID/fdinfo what an epoll descriptor waits for: lines as "tfd:        5 events:       19 data: ...".
func registered(pid, epoll int) (fds []int, ok bool) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, epoll))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<16))
	for lines.Scan() && len(fds) <= most {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "tfd:" {
			continue
		}
		if fd, err := strconv.Atoi(fields[1]); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds, true
}
