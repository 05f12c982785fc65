package kernel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A Side is which end of a connection a socket is.
type Side int

// The sides.
const (
	NoSide    Side = iota // it is not known, or there is none: both ends of a pair are in one process, a datagram socket has no peer and a port of its own choice
	Listening             // it accepts connections
	Accepted              // a listening socket has accepted it: what comes from the other end is asked of this process
	Connected             // this process has connected it: what comes from the other end is an answer
)

// SocketSide tells which end of a connection a socket of a process is. listens tells whether the process's network namespace has a
// socket that listens at a port. Of a pair without names the process that made it is taken for the one that asks, and the child that has the other end
// for the one that is asked. A datagram socket without a peer asks if the kernel chose its port, as that of a name server's client. Errors are those of
// [ReceiveTimeout].
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
	local, err := unix.Getsockname(own)
	if err != nil {
		return NoSide, nil
	}
	peer, err := unix.Getpeername(own)
	switch {
	case err != nil:
		return datagramSide(own, local), nil
	case addressText(local) == "" && addressText(peer) == "":
		return pairSide(pid, fd, own), nil
	}
	return sideOf(own, local, peer, listens), nil
}

// pairSide is the side of one end of a pair of UNIX sockets without names.
func pairSide(pid, fd, own int) Side {
	maker, err := unix.GetsockoptUcred(own, unix.SOL_SOCKET, unix.SO_PEERCRED)
	switch {
	case err != nil || maker.Pid == 0 || hasBothEnds(pid, fd):
		return NoSide
	case int(maker.Pid) == pid:
		return Connected
	}
	return Accepted
}

// mostDescriptors bounds how many descriptors of a process are looked at for the other end of a pair.
const mostDescriptors = 1 << 12

// hasBothEnds tells whether a process may have the other end of a pair, too: the kernel gives both ends of a pair numbers that follow each other.
func hasBothEnds(pid, fd int) bool {
	inode, ok := socketInode(pid, fd)
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil || !ok {
		return true
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(mostDescriptors) // what cannot be read is no descriptor
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil || n == fd {
			continue
		}
		if other, ok := socketInode(pid, n); ok && (other == inode+1 || other+1 == inode) && isNameless(pid, n) {
			return true
		}
	}
	return len(names) == mostDescriptors
}

// isNameless tells whether a descriptor may be an end of a pair: a socket without names.
func isNameless(pid, fd int) bool {
	own, err := copyFD(pid, fd)
	if err != nil {
		return true
	}
	defer unix.Close(own)
	local, err := unix.Getsockname(own)
	if err != nil {
		return true
	}
	peer, err := unix.Getpeername(own)
	return err == nil && addressText(local) == "" && addressText(peer) == ""
}

// socketInode is the number of the socket that a descriptor is; ok is false if it is none.
func socketInode(pid, fd int) (inode uint64, ok bool) {
	link, err := FDLink(pid, fd)
	if err != nil {
		return 0, false
	}
	inode, err = strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"), 10, 64)
	return inode, err == nil
}

// datagramSide is the side of a socket without a peer.
func datagramSide(fd int, local unix.Sockaddr) Side {
	if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_DGRAM {
		return NoSide
	}
	port := 0
	switch l := local.(type) {
	case *unix.SockaddrInet4:
		port = l.Port
	case *unix.SockaddrInet6:
		port = l.Port
	}
	if first, last := chosenPorts(); port >= first && port <= last {
		return Connected
	}
	return NoSide
}

// chosenPorts is from which ports the kernel chooses where a program does not.
var chosenPorts = sync.OnceValues(func() (first, last int) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &first, &last)
	}
	if err != nil {
		return 1 << 15, 60999 // as kernels have it that were not told otherwise
	}
	return first, last
})

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
