// Package launch starts programs and looks after them until they have ended: `culprit run` and `culprit assert` start what
// they measure with it, and the tests of PCL their programs.
//
// It must not import other packages of the house but internal/. It never traces a program, and never takes a wait status
// away from whoever traces it. A Program is safe for use from any goroutine. A program goes on when nobody ends it.
package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Program was started by this process.
type Program struct {
	PID   int
	Began time.Time

	process *os.Process
	adopts  bool          // what it leaves behind becomes a child of this process
	left    []*os.Process // what that was, measured in its place
	path    string
	spool   *os.File // its output until Finish; nil = it goes elsewhere
	done    chan struct{}
	code    *int // valid once done is closed; nil = unknown
}

// Hooks change how a command is started, and what is done when it has ended. Each may be nil.
type Hooks struct {
	Start func(*exec.Cmd) error // instead of (*exec.Cmd).Start
	// Ended is called when the program has ended, before it is waited for: until then no other process can have its number,
	// or that of its process group.
	Ended func(pid int)
}

// StartCommand starts a command as it is.
func StartCommand(cmd *exec.Cmd, h Hooks) (*Program, error) {
	start := h.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		return nil, err
	}
	p := &Program{PID: cmd.Process.Pid, Began: time.Now(), process: cmd.Process, path: cmd.Path, done: make(chan struct{})}
	go p.await(cmd, h.Ended)
	return p, nil
}

// await notes how the program ended. It may not simply wait for it: this process also traces the program from time to time,
// and a wait by a tracer takes away the stops that the tracing thread waits for, whatever the options (wait_task_stopped in
// kernel/exit.c). A pidfd becomes readable only at the end.
func (p *Program) await(cmd *exec.Cmd, ended func(pid int)) {
	defer close(p.done)
	awaitEnd(p.PID)
	if ended != nil {
		ended(p.PID)
	}
	// If it ended while it was being traced, its status may have been taken with the last stop; then it is not known.
	cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		code := codeOf(s)
		p.code = &code
	}
}

// awaitEnd returns when a child of this process has ended.
func awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}

// codeOf is the exit code as a shell tells it: 128 + the signal for a process that was killed.
func codeOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// Done is closed when the program has ended and its exit code is known, if it ever will be.
func (p *Program) Done() <-chan struct{} { return p.done }

// Over reports whether the program has ended.
func (p *Program) Over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// reapWait is how long the end of a program that is known to have ended may take to reach us.
const reapWait = 500 * time.Millisecond

// ExitCode is how the program ended, as a shell tells it (128 + the signal for one that was killed); nil if that is unknown.
// With over set the program is known to have ended, or to be ending.
func (p *Program) ExitCode(over bool) (code *int, ended bool) {
	if over {
		select {
		case <-p.done:
		case <-time.After(reapWait):
		}
	}
	if !p.Over() {
		return nil, false
	}
	return p.code, true
}

// endLook is how often End looks whether all have ended.
const endLook = 10 * time.Millisecond

// End ends the program by its number: with SIGTERM, and SIGKILL if it has not ended by itself after a while.
func (p *Program) End(grace time.Duration) {
	p.Measured()
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		p.process.Signal(sig) // fails if it has ended, which done will say
		p.signalLeft(sig)
		for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(endLook) {
			if p.Over() && !p.signalLeft(syscall.Signal(0)) {
				return
			}
		}
	}
}

// startError says whether a program is missing or may not be executed.
func startError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be executed: %w", name, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %s", name)
	}
	return fmt.Errorf("%s cannot be started: %w", name, err)
}
