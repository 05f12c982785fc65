package kernel

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// socketName names a socket by its other end, asking the socket itself: it is held for the moment that this takes. Where that is not
// possible the tables of the process's network namespace are read, which know nothing of who is behind a UNIX socket. settled is
// false for a socket that may be connected, and named better, later.
func socketName(pid, fd int, inode uint64, otherwise string) (name string, settled bool) {
	own, err := copyFD(pid, fd)
	if err != nil {
		name = nameInTables(pid, inode, otherwise)
		return name, true
	}
	defer unix.Close(own)
	domain, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_DOMAIN)
	switch {
	case err != nil:
		return otherwise, true
	case domain == unix.AF_INET || domain == unix.AF_INET6:
		if isConnecting(own) {
			return nameInTables(pid, inode, otherwise), false
		}
		return inetSocket(own)
	case domain == unix.AF_UNIX:
		return unixSocket(own, inode)
	case domain == unix.AF_NETLINK:
		return "netlink " + otherwise, true
	}
	return otherwise, true
}

// copyFD makes a descriptor of our own for what a descriptor of the process stands for.
func copyFD(pid, fd int) (int, error) {
	proc, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(proc)
	return unix.PidfdGetfd(proc, fd, 0)
}

// tcpSynSent is TCP_SYN_SENT of include/net/tcp_states.h.
const tcpSynSent = 2

// isConnecting reports whether a socket asks for a connection and has no answer yet. It does not tell its other end then, and the tables do.
func isConnecting(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && info.State == tcpSynSent
}

// inetSocket is "tcp PEER", "tcp listen LOCAL", or "udp LOCAL" for a socket that has no other end.
func inetSocket(fd int) (name string, settled bool) {
	protocol := inetProtocol(fd)
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && n != 0 {
		return protocol + " listen " + localAddress(fd), true
	}
	if peer, err := unix.Getpeername(fd); err == nil {
		if text := addressText(peer); text != "" {
			return protocol + " " + text, true
		}
	}
	return protocol + " " + localAddress(fd), false
}

func inetProtocol(fd int) string {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	switch {
	case err != nil:
		return "inet"
	case n == unix.IPPROTO_TCP, n == unix.IPPROTO_MPTCP:
		return "tcp"
	case n == unix.IPPROTO_UDP:
		return "udp"
	case n == unix.IPPROTO_SCTP:
		return "sctp"
	case n == unix.IPPROTO_ICMP, n == unix.IPPROTO_ICMPV6:
		return "icmp"
	}
	return "inet " + strconv.Itoa(n)
}

func localAddress(fd int) string {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return "?"
	}
	return addressText(sa)
}

// unixSocket is "unix PATH": of the other end, or of this one, as it is for what a server has accepted. A name that begins with @ is
// abstract. A pair without names is "unix socket:[N]".
func unixSocket(fd int, inode uint64) (name string, settled bool) {
	peer, err := unix.Getpeername(fd)
	if err == nil {
		if text := addressText(peer); text != "" {
			return "unix " + text, true
		}
	}
	if own, err := unix.Getsockname(fd); err == nil {
		if text := addressText(own); text != "" {
			return "unix " + text, true
		}
	}
	return fmt.Sprintf("unix socket:[%d]", inode), err == nil
}

// addressText is "" for no address.
func addressText(sa unix.Sockaddr) string {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port)).String()
	case *unix.SockaddrUnix:
		if a.Name != "@" { // which is how x/sys spells no name
			return a.Name
		}
	}
	return ""
}

// nameInTables looks the socket up in the tables of the process's own network namespace.
func nameInTables(pid int, inode uint64, otherwise string) string {
	if inode == 0 {
		return otherwise
	}
	for _, table := range socketTables {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table.file))
		if err != nil {
			continue
		}
		name, err := findSocket(f, table, inode)
		f.Close()
		if err == nil {
			return name
		}
	}
	return otherwise
}
