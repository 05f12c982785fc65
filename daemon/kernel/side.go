package kernel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A Side is which end of a connection a socket is.
type Side int

// The sides.
const (
	NoSide    Side = iota // it is not known, or there is none: a pair without names, a datagram socket without a peer
	Listening             // it accepts connections
	Accepted              // a listening socket has accepted it: what comes from the other end is asked of this process
	Connected             // this process has connected it: what comes from the other end is an answer
)

// SocketSide tells which end of a connection a socket of a process is. listens tells whether the process's network namespace has a
// socket that listens at a port. Errors are those of [ReceiveTimeout].
func SocketSide(pid, fd int, listens func(port int) bool) (Side, error) {
	what := fmt.Sprintf("asking for the addresses of socket %d of process %d", fd, pid)
	own, err := copyFD(pid, fd)
	if err == unix.ENOSYS {
		return NoSide, &Unsupported{What: what, Needs: "Linux 5.6 or later (pidfd_getfd)"}
	}
	if err != nil {
		return NoSide, explain(what, err)
	}
	defer unix.Close(own)
	if n, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && n != 0 {
		return Listening, nil
	}
	peer, err := unix.Getpeername(own)
	if err != nil {
		return NoSide, nil
	}
	local, err := unix.Getsockname(own)
	if err != nil {
		return NoSide, nil
	}
	return sideOf(own, local, peer, listens), nil
}

func sideOf(fd int, local, peer unix.Sockaddr, listens func(port int) bool) Side {
	port := 0
	switch l := local.(type) {
	case *unix.SockaddrUnix:
		switch {
		case addressText(local) != "":
			return Accepted
		case addressText(peer) != "":
			return Connected
		}
		return NoSide
	case *unix.SockaddrInet4:
		port = l.Port
	case *unix.SockaddrInet6:
		port = l.Port
	default:
		return NoSide
	}
	if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind == unix.SOCK_STREAM && listens(port) {
		return Accepted
	}
	return Connected
}

// maxListening bounds how many listening sockets are read.
const maxListening = 1 << 14

// ListeningPorts are the TCP ports at which sockets of a process's network namespace listen. The kernel lists those first, so that a host with
// many connections costs no more.
func ListeningPorts(pid int) map[int]bool {
	ports := map[int]bool{}
	for _, file := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			continue
		}
		readListening(f, ports)
		f.Close()
	}
	return ports
}

func readListening(r io.Reader, ports map[int]bool) {
	lines := bufio.NewScanner(io.LimitReader(r, maxTable))
	lines.Scan() // the names of the columns
	for lines.Scan() && len(ports) < maxListening {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != tcpListen {
			return
		}
		if local, ok := hexAddress(fields[1]); ok {
			ports[int(local.Port())] = true
		}
	}
}
