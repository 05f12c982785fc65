package testrun

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A starter starts programs from one thread, which lives as long as it does: the kernel ends a program, as PR_SET_PDEATHSIG
// asks for, when the thread ends that started it. Close ends nothing that has ended already.
type starter struct{ requests chan request }

type request struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter() *starter {
	s := &starter{make(chan request)}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for r := range s.requests {
			r.done <- r.cmd.Start()
		}
	}()
	return s
}

// start starts a command in a process group of its own, so that Ctrl-C on a terminal ends the test, and the test ends it.
func (s *starter) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r := request{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.done
}

func (s *starter) close() { close(s.requests) }
