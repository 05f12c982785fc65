package kernel

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// An FDKind says what sort of thing a descriptor refers to.
type FDKind string

// The kinds of descriptors.
const (
	FDFile   FDKind = "file"   // a regular file, also a memfd
	FDDir    FDKind = "dir"    // a directory
	FDDevice FDKind = "device" // a terminal, /dev/null, a disk
	FDPipe   FDKind = "pipe"   // a pipe or FIFO
	FDSocket FDKind = "socket" // any socket
	FDEvent  FDKind = "event"  // eventfd, epoll, timerfd, signalfd, inotify, io_uring
	FDOther  FDKind = "other"
)

// FD is what a descriptor of a process refers to.
type FD struct {
	Kind FDKind
	// Name is a path for files, "memfd:NAME" for memory files; "tcp PEER", "tcp listen LOCAL", "udp LOCAL" (or PEER, where it is
	// connected), "unix PATH" for sockets; "pipe:[N]" for pipes; the kernel's own word (such as "anon_inode:[eventfd]",
	// "socket:[N]") where there is no better one. It is not escaped.
	Name string
	// Inode and Dev tell things with the same name apart; 0 if unknown. Dev is 0 for pipes and sockets.
	Inode, Dev uint64
	// Unsettled is set for a socket that may get another name: it is not connected yet.
	Unsettled bool
}

// FDTarget returns what descriptor fd of the process refers to. It needs the right to trace the process (else
// *NotPermitted); the error wraps ErrGone if the process has ended or the descriptor is closed.
func FDTarget(pid, fd int) (FD, error) {
	link, err := FDLink(pid, fd)
	if err != nil {
		return FD{}, err
	}
	switch {
	case strings.HasPrefix(link, "socket:["):
		inode := bracketed(link)
		name, settled := socketName(pid, fd, inode, link)
		return FD{Kind: FDSocket, Name: name, Inode: inode, Unsettled: !settled}, nil
	case strings.HasPrefix(link, "pipe:["):
		return FD{Kind: FDPipe, Name: link, Inode: bracketed(link)}, nil
	case strings.HasPrefix(link, "anon_inode:"):
		return FD{Kind: anonymousKind(link), Name: link}, nil
	case strings.HasPrefix(link, "/memfd:"):
		to := fileAt(pid, fd)
		to.Name = strings.TrimSuffix(link[1:], " (deleted)")
		return to, nil
	}
	to := fileAt(pid, fd)
	to.Name = link
	return to, nil
}

// FDLink returns what the kernel says that descriptor fd of the process refers to: a path, "socket:[N]" and the like. It is cheaper
// than FDTarget, and enough to see whether the descriptor still refers to the same. Errors are those of FDTarget.
func FDLink(pid, fd int) (string, error) {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if err != nil {
		return "", explain(fmt.Sprintf("reading descriptor %d of process %d", fd, pid), err)
	}
	return link, nil
}

// FDs lists the open descriptors of the process, at most as many as said, in no order. Errors are those of FDTarget.
func FDs(pid, most int) (fds []int, err error) {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return nil, explain(fmt.Sprintf("listing the descriptors of process %d", pid), err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(most)
	if err != nil && err != io.EOF {
		return nil, explain(fmt.Sprintf("listing the descriptors of process %d", pid), err)
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds, nil
}

// fileAt asks the file itself, through the link in /proc, so that another file at the same path cannot deceive.
func fileAt(pid, fd int) FD {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), &st) != nil {
		return FD{Kind: FDOther}
	}
	to := FD{Kind: FDOther, Inode: st.Ino, Dev: st.Dev}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		to.Kind = FDFile
	case unix.S_IFDIR:
		to.Kind = FDDir
	case unix.S_IFIFO:
		to.Kind = FDPipe
	case unix.S_IFCHR, unix.S_IFBLK:
		to.Kind = FDDevice
	}
	return to
}

func anonymousKind(name string) FDKind {
	for _, word := range []string{"eventfd", "eventpoll", "timerfd", "signalfd", "inotify", "io_uring"} {
		if strings.Contains(name, word) {
			return FDEvent
		}
	}
	return FDOther
}

// bracketed returns N of "word:[N]".
func bracketed(name string) uint64 {
	_, rest, _ := strings.Cut(name, "[")
	n, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// A socketTable is one file of /proc/PID/net: which column holds the inode, and how a row is named.
type socketTable struct {
	file, protocol string
	inode          int
	name           func(protocol string, fields []string) string
}

var socketTables = []socketTable{
	{"tcp", "tcp", 9, inetName}, {"tcp6", "tcp", 9, inetName},
	{"udp", "udp", 9, inetName}, {"udp6", "udp", 9, inetName},
	{"unix", "unix", 6, unixName},
}

var errNoSocket = errors.New("no such socket in this table")

// maxTable bounds how much of a table is read: a host with 100,000 connections has about 15 MB.
const maxTable = 64 << 20

func findSocket(r io.Reader, table socketTable, inode uint64) (string, error) {
	want := strconv.FormatUint(inode, 10)
	scanner := bufio.NewScanner(io.LimitReader(r, maxTable))
	for scanner.Scan() {
		fields := strings.Fields(scanner.Text())
		if len(fields) > table.inode && fields[table.inode] == want {
			if name := table.name(table.protocol, fields); name != "" {
				return name, nil
			}
		}
	}
	return "", errNoSocket
}

// tcpListen is TCP_LISTEN of include/net/tcp_states.h as the table prints it.
const tcpListen = "0A"

func inetName(protocol string, fields []string) string {
	local, ok := hexAddress(fields[1])
	peer, ok2 := hexAddress(fields[2])
	switch {
	case !ok || !ok2:
		return ""
	case protocol == "tcp" && fields[3] == tcpListen:
		return "tcp listen " + local.String()
	case peer.Port() == 0:
		return protocol + " " + local.String()
	}
	return protocol + " " + peer.String()
}

// hexAddress reads "0100007F:1F90": words of the address in the host's byte order, the port in hexadecimal.
func hexAddress(text string) (netip.AddrPort, bool) {
	host, portText, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	port, err2 := strconv.ParseUint(portText, 16, 16)
	if err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), ok
}

// unixName gives an unnamed socket its inode as its name. A path may hold blanks; the kernel does not escape them.
func unixName(protocol string, fields []string) string {
	if len(fields) > 7 {
		return protocol + " " + strings.Join(fields[7:], " ")
	}
	return protocol + " socket:[" + fields[6] + "]"
}
