package process

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// PassFD gives the target a descriptor of what fd is here: for files that cannot be opened anew through /proc, such as maps of BPF.
// The target makes a pair of connected sockets, of which one end is taken over for a moment to send it through. opened is told of the
// descriptors that the target gets on the way, as soon as they are there and before they are used; an error of it ends the matter. What is
// returned is the target's to close (CloseFD); the sockets are closed, whatever happens.
func (w *World) PassFD(fd int, opened func(targetFDs ...int) error) (got int, err error) {
	ends, err := w.socketPair()
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, e := range ends {
			if cerr := w.CloseFD(e); err == nil {
				err = cerr
			}
		}
	}()
	if err := opened(ends[:]...); err != nil {
		return 0, err
	}
	if err := w.sendThrough(ends[0], fd); err != nil {
		return 0, err
	}
	if got, err = w.receiveFD(ends[1]); err != nil {
		return 0, err
	}
	if err := opened(got); err != nil {
		return 0, closing(w, got, err)
	}
	return got, nil
}

func closing(w *World, fd int, err error) error {
	if cerr := w.CloseFD(fd); cerr != nil {
		return fmt.Errorf("%w; and then %w", err, cerr)
	}
	return err
}

// socketPair makes two connected sockets in the target.
func (w *World) socketPair() (ends [2]int, err error) {
	reply := make([]byte, 8)
	_, err = w.exchange(reply, func(at uint64) (uint64, [6]uint64, []byte) {
		return unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0, at}, make([]byte, 8)
	})
	if err != nil {
		return ends, fmt.Errorf("making a pair of sockets in the target: %w", err)
	}
	for i := range ends {
		ends[i] = int(int32(binary.LittleEndian.Uint32(reply[4*i:])))
	}
	return ends, nil
}

// sendThrough sends fd into the target's socket from our side.
func (w *World) sendThrough(end, fd int) error {
	pidfd, err := unix.PidfdOpen(w.s.p.pid, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open(%d): %w", w.s.p.pid, err)
	}
	defer unix.Close(pidfd)
	mine, err := unix.PidfdGetfd(pidfd, end, 0)
	if err != nil {
		return fmt.Errorf("taking over a socket of the target: %w", err)
	}
	defer unix.Close(mine)
	if err := unix.Sendmsg(mine, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("sending a descriptor to the target: %w", err)
	}
	return nil
}

// Offsets in what the target receives into: struct msghdr, its struct iovec, the control message, and one byte of data.
const (
	iovecAt    = 56
	controlAt  = iovecAt + 16
	controlLen = 24 // a struct cmsghdr and one descriptor, padded
	dataAt     = controlAt + controlLen
	messageLen = dataAt + 8
)

// receiveFD has the target take a descriptor out of its socket.
func (w *World) receiveFD(end int) (int, error) {
	reply := make([]byte, messageLen)
	_, err := w.exchange(reply, func(at uint64) (uint64, [6]uint64, []byte) {
		return unix.SYS_RECVMSG, [6]uint64{uint64(end), at, unix.MSG_DONTWAIT | unix.MSG_CMSG_CLOEXEC}, message(at)
	})
	if err != nil {
		return 0, fmt.Errorf("receiving a descriptor in the target: %w", err)
	}
	le := binary.LittleEndian
	control := reply[controlAt:]
	if le.Uint64(control) != 20 || le.Uint32(control[8:]) != unix.SOL_SOCKET || le.Uint32(control[12:]) != unix.SCM_RIGHTS {
		return 0, fmt.Errorf("receiving a descriptor in the target: there was none in the message")
	}
	return int(int32(le.Uint32(control[16:]))), nil
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
func (w *World) exchange(reply []byte, ask func(at uint64) (nr uint64, args [6]uint64, mem []byte)) (uint64, error) {
	if w.over {
		return 0, ErrWorldOver
	}
	c, err := w.prepare(nil)
	if err != nil {
		return 0, err
	}
	nr, args, mem := ask(uint64(c.name))
	if _, err := w.s.p.pwrite(mem, c.name); err != nil {
		c.clear()
		return 0, w.s.p.gone(&WriteError{Addr: c.name, Err: err})
	}
	c.reply = reply
	return c.call(nr, args)
}
