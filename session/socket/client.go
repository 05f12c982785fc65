package socket

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/procfs"
)

// A Session is a session that can be asked: a process with a socket.
type Session struct {
	PID int
	UID int // whose it is
	dir string
}

// Sessions lists the sessions of this user, of root those of all users. One that was killed may be among them.
func Sessions() (all []Session) {
	for _, path := range searched() {
		d, err := openDir(path)
		if err != nil {
			continue // there is none
		}
		if mayAsk(d.uid) {
			for _, pid := range d.list() {
				all = append(all, Session{pid, d.uid, path})
			}
		}
		d.close()
	}
	return all
}

// searched are the directories in which sockets may be.
func searched() []string {
	uid := os.Geteuid()
	dirs := places(uid)
	if uid != 0 {
		return dirs
	}
	known := map[string]bool{}
	for _, d := range dirs {
		known[d] = true
	}
	for _, pattern := range []string{"/run/user/*/culprit", filepath.Join(os.TempDir(), "culprit-*")} {
		found, _ := filepath.Glob(pattern) // the pattern is a good one
		for _, d := range found[:min(len(found), maxSockets)] {
			if !known[d] {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// Stopped tells that a process was stopped by a signal (SIGSTOP, Ctrl-Z): it does nothing until it is continued.
func Stopped(pid int) bool {
	st, err := procfs.ReadStat(pid)
	return err == nil && st.State == 'T'
}

func mayAsk(uid int) bool { return os.Geteuid() == 0 || uid == os.Geteuid() }

// ErrNoSession says that nobody listens on a socket: its session was killed.
var ErrNoSession = errors.New("the session has ended")

// Ask is AskUntil with the time that a session has for an answer.
func (s Session) Ask(request string) ([]byte, error) {
	return s.AskUntil(time.Now().Add(answerWait), request)
}

// AskUntil sends a request and returns the answer. An answer that says why there is none is an *Error. Nothing of an answer is
// trusted: it has maxAnswer bytes at most, comes by the deadline, and from the process of the user that the socket is named after.
func (s Session) AskUntil(deadline time.Time, request string) ([]byte, error) {
	d, err := openDir(s.dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if d.uid != s.UID {
		return nil, ErrNoSession // the directory is another one now
	}
	if Stopped(s.PID) {
		return nil, fmt.Errorf("culprit %d is stopped by a signal and cannot answer; continue it: kill -CONT %d", s.PID, s.PID)
	}
	c, err := (&net.Dialer{Deadline: deadline}).Dial("unix", d.address(s.PID))
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return nil, ErrNoSession
	}
	if err != nil {
		return nil, fmt.Errorf("the session of process %d cannot be asked: %w", s.PID, err)
	}
	defer c.Close()
	if err := s.check(c.(*net.UnixConn), d.uid); err != nil {
		return nil, err
	}
	c.SetDeadline(deadline)
	if _, err := io.WriteString(c, request+"\n"); err != nil {
		return nil, fmt.Errorf("the session of process %d takes no request: %w", s.PID, err)
	}
	return s.read(c)
}

// check makes sure that who listens is who it should be.
func (s Session) check(c *net.UnixConn, owner int) error {
	who, err := peerOf(c)
	switch {
	case err != nil:
		return err
	case int(who.Uid) != owner: // a link may lead to the socket of somebody else
		return fmt.Errorf("the socket of process %d belongs to uid %d, and uid %d listens on it", s.PID, owner, who.Uid)
	case int(who.Pid) != s.PID:
		return fmt.Errorf("process %d listens on the socket of process %d", who.Pid, s.PID)
	}
	return nil
}

func (s Session) read(c net.Conn) ([]byte, error) {
	line, err := bufio.NewReader(io.LimitReader(c, maxAnswer+1)).ReadBytes('\n')
	if len(line) > maxAnswer {
		return nil, fmt.Errorf("the answer of the session of process %d is longer than %d MiB", s.PID, maxAnswer>>20)
	}
	if err == io.EOF && len(line) == 0 {
		return nil, fmt.Errorf("the session of process %d ends: %w", s.PID, ErrNoSession)
	}
	if err != nil {
		return nil, fmt.Errorf("the session of process %d gave no whole answer: %w", s.PID, err)
	}
	var f failure
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, fmt.Errorf("the answer of process %d is no JSON: %w", s.PID, err)
	}
	if f.Error != nil {
		return nil, f.Error
	}
	return line, nil
}
