// Package servers starts servers of Debian's packages for tests and benchmarks: PostgreSQL, MariaDB, redis, memcached and nginx. Each
// has its own directory, can be reached from this machine only, and is never a system service. A server belongs to one goroutine.
// Close ends it; without Close its processes and its directory stay.
//
// It imports nothing of the project.
package servers

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrMissing is wrapped by errors that say which package is not installed.
var ErrMissing = errors.New("scripts/install-packages installs it on Debian")

func missing(what string) error { return fmt.Errorf("needs %s: %w", what, ErrMissing) }

// patience is how long a server may take to begin, and to end when it is told to.
const patience = 20 * time.Second

// A Server is a server that runs. Nobody waits for it before it is closed: a wait takes the stops of a process away from whoever
// traces it in the same program.
type Server struct {
	PID    int // of its first process
	Dir    string
	cmd    *exec.Cmd
	stop   syscall.Signal // what makes it and its processes end
	closed bool
}

// start starts a server whose first process ends with all others when it gets the signal.
func start(cmd *exec.Cmd, dir string, stop syscall.Signal) (*Server, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Server{PID: cmd.Process.Pid, Dir: dir, cmd: cmd, stop: stop}, nil
}

// await waits until ready answers nil. On an error the server has ended.
func (s *Server) await(ready func() error) error {
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !s.Alive() {
			return fmt.Errorf("%s has ended at once: %w", s.cmd.Path, s.cmd.Wait())
		}
		if err = ready(); err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("%s does not answer: %w", s.cmd.Path, err), s.Close())
}

// Alive says whether its first process runs.
func (s *Server) Alive() bool {
	if s.closed {
		return false
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.PID, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == 0
}

// Signal sends a signal to its first process.
func (s *Server) Signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// Close tells the server to end and waits for it. It is an error if it does not end in time: it is killed then. Closing twice is
// harmless.
func (s *Server) Close() error {
	if s.closed {
		return nil
	}
	_ = s.Signal(s.stop) // it may have ended meanwhile
	s.closed = true
	done := make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // by the signal, or as it likes
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(patience):
	}
	_ = s.cmd.Process.Kill()
	<-done
	return fmt.Errorf("%s did not end within %v and was killed", s.cmd.Path, patience)
}
