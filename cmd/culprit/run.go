package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"culprit/daemon"
	"culprit/daemon/process"
	"culprit/internal/safeelf"
	"culprit/session/report"
)

func newRun() *cobra.Command {
	var opts measureOptions
	cmd := &cobra.Command{
		Use: "run [flags] -- CMD [ARG...]", Short: "Start a program, measure it and search for the bottleneck",
		Long: `run starts a program and attaches to it. It works also where only children may be traced.

The program's output passes through untouched (with --json - its standard output goes to
standard error; while the screens are open it goes to a file and is printed when they
close). It runs in a process group of its own, so Ctrl-C ends the measurement, not the
program; and its standard input is /dev/null if ours is a terminal. When the measurement
ends, the program goes on without us.`,
		Example: "  culprit run -- ./server --port 8080\n  culprit run --for 10s --json - -- make -j4",
		Args:    cobra.MinimumNArgs(1),
		RunE:    body(func(cmd *cobra.Command, args []string) error { return runCommand(cmd.Context(), &opts, args) }),
	}
	opts.register(cmd.Flags())
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runCommand(ctx context.Context, opts *measureOptions, args []string) error {
	m, err := prepare(opts)
	if err != nil {
		return err
	}
	c, err := startChild(args, m.screens, opts.json == "-")
	if err != nil {
		return err
	}
	defer c.finish()
	c.awaitImage()
	m.exit = c.exitCode
	err = m.run(ctx, []int{c.pid})
	if !m.opened {
		if isGone(err) {
			if code, ended := c.exitCode(true); ended {
				return &statusError{exitEnded, endedAtOnce(args[0], code)}
			}
		}
		var taken *daemon.Taken
		if errors.As(err, &taken) && taken.Alive() { // it is measured, though not by us
			m.progressf("%s goes on (pid %d)", args[0], c.pid)
			return err
		}
		c.end()
		return err
	}
	if code, ended := c.exitCode(false); ended && code != nil {
		m.progressf("%s ended with %s", args[0], report.Ending(*code))
	} else if !ended {
		m.progressf("%s goes on (pid %d)", args[0], c.pid)
	}
	return err
}

// isGone reports whether an error is that a process has ended.
func isGone(err error) bool {
	return errors.Is(err, process.ErrNotFound) || errors.Is(err, process.ErrZombie) || errors.Is(err, process.ErrTargetExited)
}

func endedAtOnce(name string, code *int) error {
	how := ""
	if code != nil {
		how = " with " + report.Ending(*code)
	}
	return fmt.Errorf("%s ended%s before it could be measured", name, how)
}

// A child is the program that `run` started.
type child struct {
	pid     int
	process *os.Process
	path    string
	spool   *os.File // its output while the screens are open; nil without screens
	done    chan struct{}
	code    *int // valid once done is closed; nil = unknown
}

// startChild starts the program. The error says whether it is missing or may not be executed.
func startChild(args []string, screens, jsonOut bool) (*child, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if isTerminal(os.Stdin) {
		cmd.Stdin = nil
	}
	if jsonOut {
		cmd.Stdout = os.Stderr
	}
	c := &child{done: make(chan struct{})}
	if screens {
		f, err := os.CreateTemp("", "culprit-run-*.out")
		if err != nil {
			return nil, fmt.Errorf("no file for the output of the program: %w", err)
		}
		c.spool, cmd.Stdout, cmd.Stderr = f, f, f
	}
	if err := cmd.Start(); err != nil {
		c.dropSpool()
		return nil, startError(args[0], err)
	}
	c.pid, c.process, c.path = cmd.Process.Pid, cmd.Process, cmd.Path
	go c.await(cmd)
	return c, nil
}

// await notes how the program ended. It may not simply wait for it: this process also traces the program from time to time,
// and a wait by a tracer takes away the stops that the tracing thread waits for, whatever the options (wait_task_stopped in
// kernel/exit.c). A pidfd becomes readable only at the end.
func (c *child) await(cmd *exec.Cmd) {
	defer close(c.done)
	if fd, err := unix.PidfdOpen(c.pid, 0); err == nil {
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || err != nil && err != unix.EINTR {
				break
			}
		}
	}
	// If it ended while it was being traced, its status may have been taken with the last stop; then it is not known.
	cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		code := codeOf(s)
		c.code = &code
	}
}

func startError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be executed: %w", name, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %s", name)
	}
	return fmt.Errorf("%s cannot be started: %w", name, err)
}

// codeOf is the exit code as a shell tells it: 128 + the signal for a process that was killed.
func codeOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// reapWait is how long the end of a program that is known to have ended may take to reach us.
const reapWait = 500 * time.Millisecond

// exitCode is how the program ended, nil if that is unknown. With over set it is known to have ended, or to be ending.
func (c *child) exitCode(over bool) (code *int, ended bool) {
	if over {
		select {
		case <-c.done:
		case <-time.After(reapWait):
		}
	}
	select {
	case <-c.done:
		return c.code, true
	default:
		return nil, false
	}
}

// imageWait bounds how long the start of a program may take before attach is tried anyway.
const imageWait = 500 * time.Millisecond

// awaitImage waits until the program's own image is there: exec is done when Start returns, but the loader of a dynamic
// program still has to map the libraries, which attach wants to see. It is done when libc is mapped and nothing changes.
func (c *child) awaitImage() {
	if !isDynamic(c.path) {
		return
	}
	before := ""
	for deadline := time.Now().Add(imageWait); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
		maps := string(b)
		if err != nil || maps == before && (strings.Contains(maps, "/libc.") || strings.Contains(maps, "/ld-musl")) {
			return
		}
		before = maps
	}
}

func isDynamic(path string) bool {
	f, file, err := safeelf.Open(path)
	if err != nil {
		return true // a script: its interpreter is dynamic in all likelihood
	}
	defer file.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}

// endWait is how long a program gets to end after SIGTERM.
const endWait = 2 * time.Second

// end ends the program, which was started to be measured and cannot be.
func (c *child) end() {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		c.process.Signal(sig) // fails if it has ended, which done will say
		select {
		case <-c.done:
			return
		case <-time.After(endWait):
		}
	}
}

// finish prints the output that was held back for the screens. A program that goes on keeps writing to the file.
func (c *child) finish() {
	if c.spool == nil {
		return
	}
	if _, err := c.spool.Seek(0, io.SeekStart); err == nil {
		io.Copy(os.Stdout, c.spool)
	}
	select {
	case <-c.done:
		c.dropSpool()
	default:
		fmt.Fprintf(os.Stderr, "culprit: the program goes on; its output is in %s\n", c.spool.Name())
		c.spool.Close()
	}
}

func (c *child) dropSpool() {
	if c.spool != nil {
		c.spool.Close()
		os.Remove(c.spool.Name())
	}
}
