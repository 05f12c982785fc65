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
	// Name is a path for files; "tcp LOCAL->PEER", "tcp listen LOCAL", "udp LOCAL", "unix PATH" for sockets; "pipe:[N]"
	// for pipes; the kernel's own word (such as "anon_inode:[eventfd]", "socket:[N]") where there is no better one.
	// It is not escaped.
	Name string
	// Inode tells unnamed pipes and sockets apart; 0 if unknown.
	Inode uint64
}

// FDTarget returns what descriptor fd of the process refers to. It needs the right to trace the process (else
// *NotPermitted); the error wraps ErrGone if the process has ended or the descriptor is closed.
func FDTarget(pid, fd int) (FD, error) {
	link := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	name, err := os.Readlink(link)
	if err != nil {
		return FD{}, explain(fmt.Sprintf("reading descriptor %d of process %d", fd, pid), err)
	}
	switch {
	case strings.HasPrefix(name, "socket:["):
		inode := bracketed(name)
		return FD{FDSocket, socketName(pid, inode, name), inode}, nil
	case strings.HasPrefix(name, "pipe:["):
		return FD{FDPipe, name, bracketed(name)}, nil
	case strings.HasPrefix(name, "anon_inode:"):
		return FD{Kind: anonymousKind(name), Name: name}, nil
	}
	return FD{Kind: fileKind(link), Name: name}, nil
}

// fileKind asks the file itself, through the link in /proc, so that another file at the same path cannot deceive.
func fileKind(link string) FDKind {
	info, err := os.Stat(link)
	if err != nil {
		return FDOther
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return FDFile
	case mode.IsDir():
		return FDDir
	case mode&os.ModeNamedPipe != 0:
		return FDPipe
	case mode&os.ModeDevice != 0:
		return FDDevice
	}
	return FDOther
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

// socketName looks the socket up in the tables of the process's own network namespace.
func socketName(pid int, inode uint64, otherwise string) string {
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
	return protocol + " " + local.String() + "->" + peer.String()
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
