package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// PassFDs gives the target descriptors of what fds, two at most, are here. The target makes a pair of connected sockets, of which one end
// is taken over for a moment to send them through. opened is told when the sockets are there, and when they have names, of no descriptor, and
// then of those that the target has got; an error of it ends the matter. What is returned is the target's to close (CloseFD); the sockets are closed,
// whatever happens. A culprit that is killed leaves sockets that PassingSockets finds.
//
// Whoever shares the target's table of descriptors may put others in their place at any time. What he can win is what the target gets.
// Errors: *Unsupported where the kernel cannot take over a descriptor.
func (w *Caller) PassFDs(fds []int, opened func(got ...int) error) (got []int, err error) {
	if err := w.mapOwn(); err != nil {
		return nil, err
	}
	ends, err := w.socketPair()
	if err != nil {
		return nil, err
	}
	defer func() {
		w.forgetPair(w.own)
		cerr := errors.Join(w.CloseFD(ends[0]), w.CloseFD(ends[1]))
		if err == nil && cerr != nil {
			got, err = nil, closing(w, got, cerr)
		}
	}()
	if err := opened(); err != nil {
		return nil, err
	}
	if err := w.sendThrough(ends, fds, opened); err != nil {
		return nil, err
	}
	if got, err = w.receiveFDs(ends[1], len(fds)); err != nil {
		return nil, err
	}
	if err := opened(got...); err != nil {
		return nil, closing(w, got, err)
	}
	return got, nil
}

func closing(w *Caller, fds []int, err error) error {
	for _, fd := range fds {
		if cerr := w.CloseFD(fd); cerr != nil {
			err = fmt.Errorf("%w; and then %w", err, cerr)
		}
	}
	return err
}

// socketPair makes two connected sockets in the target. The kernel writes their numbers before pairMark in the page of ours that the call is made
// from, so that they are found there until they have names.
func (w *Caller) socketPair() (ends [2]int, err error) {
	reply := make([]byte, 8)
	_, err = w.exchange(reply, func(at uint64) (uint64, [6]uint64, []byte) {
		return unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0, at}, append(noPair[:len(noPair):len(noPair)], pairMark...)
	})
	if err != nil {
		return ends, fmt.Errorf("making a pair of sockets in the target: %w", err)
	}
	for i := range ends {
		ends[i] = int(int32(binary.LittleEndian.Uint32(reply[4*i:])))
	}
	return ends, nil
}

// sendThrough names the target's sockets and sends descriptors into the first from our side.
func (w *Caller) sendThrough(ends [2]int, fds []int, opened func(...int) error) error {
	var mine [2]int
	for i, end := range ends {
		fd, err := takeSocket(w.pid, end)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		mine[i] = fd
		_ = unix.Bind(fd, &unix.SockaddrUnix{Name: passingName()}) // without a name it only is not found after a kill
	}
	if err := opened(); err != nil {
		return err
	}
	if err := unix.Sendmsg(mine[0], []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("sending a descriptor to the target: %w", err)
	}
	return nil
}

// takeSocket takes over a socket of a pair that the target has made. Nothing is opened, and nothing else is done to what is no such socket:
// to close it may mean to wait for whoever serves the file.
func takeSocket(pid, end int) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("pidfd_open(%d): %w", pid, err)
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, end, 0)
	switch {
	case errors.Is(err, unix.ENOSYS):
		return 0, &raw.Unsupported{What: "passing memory to the target", Needs: "Linux 5.6 (pidfd_getfd)"}
	case errors.Is(err, unix.EPERM):
		return 0, &raw.Unsupported{What: "passing memory to the target", Needs: "the right to take over its descriptors (pidfd_getfd; a container's seccomp profile may forbid it)"}
	case err != nil:
		return 0, fmt.Errorf("taking over a socket of the target: %w", err)
	}
	if !pairedSocket(pid, fd) {
		go unix.Close(fd)
		return 0, fmt.Errorf("descriptor %d of the target is not the socket that was made there: somebody else changes its descriptors", end)
	}
	return fd, nil
}

// pairedSocket reports whether a descriptor is a stream socket whose other end the target made itself: nobody else is at the other end
// unless the target has given it to him.
func pairedSocket(pid, fd int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_UNIX {
		return false
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM {
		return false
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(peer.Pid) == pid
}

// pairMark stands behind the numbers of sockets that a target has made for us, and noPair in their place before.
const pairMark = "culprit: sockets"

var noPair = bytes.Repeat([]byte{0xff}, 8)

// forgetPair has a page of ours say no longer that sockets were made: their numbers may stand for others of the target's soon.
func (w *Caller) forgetPair(page raw.Addr) {
	mark := make([]byte, len(pairMark))
	if at := page + raw.Addr(len(noPair)); page != 0 && w.mem.Read(at, mark) == nil && string(mark) == pairMark {
		_, _ = w.mem.Pwrite(make([]byte, len(mark)), at) // a page that cannot be written to is gone
	}
}

// ForgetPairs has all pages of ours that were left behind say so, when the sockets are closed.
func (w *Caller) ForgetPairs() error {
	maps, err := w.Maps()
	for _, m := range Leftovers(maps) {
		w.forgetPair(m.Start)
	}
	return err
}

// madePair are the sockets that a page of ours which was left behind says were made, if that is what they are.
func madePair(pid int, mem *raw.File, maps []raw.Mapping) (fds []int) {
	for _, m := range Leftovers(maps) {
		b := make([]byte, len(noPair)+len(pairMark))
		if mem.Read(m.Start, b) != nil || string(b[len(noPair):]) != pairMark {
			continue
		}
		for i := range 2 {
			end := int(int32(binary.LittleEndian.Uint32(b[4*i:])))
			if mine, err := takeSocket(pid, end); err == nil {
				unix.Close(mine)
				fds = append(fds, end)
			}
		}
	}
	return fds
}

// passingPrefix begins the names, in the abstract namespace, of sockets on which descriptors are passed.
const passingPrefix = "@culprit-passing-"

func passingName() string { return fmt.Sprintf("%s%016x", passingPrefix, rand.Uint64()) }

// PassingSockets are the descriptors, among those that the target has open, of sockets that a culprit has left there which was killed
// while it passed a descriptor. mem and maps are the target's.
func PassingSockets(pid int, mem *raw.File, maps []raw.Mapping, open map[int]string) (fds []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err != nil {
		return nil
	}
	left := map[string]bool{}
	for line := range strings.Lines(string(text)) { // Num RefCount Protocol Flags Type St Inode Path
		if f := strings.Fields(line); len(f) == 8 && strings.HasPrefix(f[7], passingPrefix) {
			left["socket:["+f[6]+"]"] = true
		}
	}
	fds = madePair(pid, mem, maps)
	for fd, link := range open {
		if left[link] && !slices.Contains(fds, fd) {
			fds = append(fds, fd)
		}
	}
	return fds
}

// Offsets in what the target receives into: struct msghdr, its struct iovec, the control message, and one byte of data.
const (
	iovecAt    = 56
	controlAt  = iovecAt + 16
	controlLen = cmsgLen + 2*4 // a struct cmsghdr and two descriptors
	cmsgLen    = 16
	dataAt     = controlAt + controlLen
	messageLen = dataAt + 8
)

// receiveFDs has the target take descriptors out of its socket, which it may have room for only in part.
func (w *Caller) receiveFDs(end, n int) ([]int, error) {
	reply := make([]byte, messageLen)
	_, err := w.exchange(reply, func(at uint64) (uint64, [6]uint64, []byte) {
		return unix.SYS_RECVMSG, [6]uint64{uint64(end), at, unix.MSG_DONTWAIT | unix.MSG_CMSG_CLOEXEC}, message(at)
	})
	if err != nil {
		return nil, fmt.Errorf("receiving descriptors in the target: %w", err)
	}
	le := binary.LittleEndian
	control := reply[controlAt:]
	if le.Uint32(control[8:]) != unix.SOL_SOCKET || le.Uint32(control[12:]) != unix.SCM_RIGHTS {
		return nil, fmt.Errorf("none of %d descriptors came in the target: it may have no room for more (ulimit -n)", n)
	}
	var got []int
	for at := cmsgLen; at+4 <= min(int(le.Uint32(control)), controlLen); at += 4 {
		got = append(got, int(int32(le.Uint32(control[at:]))))
	}
	if len(got) != n {
		return nil, closing(w, got, fmt.Errorf("the target has room for %d of %d more descriptors", len(got), n))
	}
	return got, nil
}

// message is a struct msghdr at address at, and what it points to.
func message(at uint64) []byte {
	b, le := make([]byte, messageLen), binary.LittleEndian
	le.PutUint64(b[16:], at+iovecAt)
	le.PutUint64(b[24:], 1)
	le.PutUint64(b[32:], at+controlAt)
	le.PutUint64(b[40:], controlLen)
	le.PutUint64(b[iovecAt:], at+dataAt)
	le.PutUint64(b[iovecAt+8:], 1)
	return b
}

// exchange makes a call whose arguments point to memory: ask gives the call, its arguments and the memory for the address at which that
// will lie, and reply is filled with what lies there afterwards.
func (w *Caller) exchange(reply []byte, ask func(at uint64) (nr uint64, args [6]uint64, mem []byte)) (uint64, error) {
	if w.over {
		return 0, ErrOver
	}
	c, err := w.prepare(nil)
	if err != nil {
		return 0, err
	}
	nr, args, mem := ask(uint64(c.name))
	if _, err := w.mem.Pwrite(mem, c.name); err != nil {
		w.parked = c
		return 0, errors.Join(w.gone(&raw.WriteError{Addr: c.name, Err: err}), w.unpark())
	}
	c.reply = reply
	return c.call(nr, args)
}
