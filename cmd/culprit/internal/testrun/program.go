package testrun

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"culprit/pcl/pcltest"
)

// A program was started by a test. endPrograms ends it.
type program struct {
	name  string
	pid   int
	cmd   *exec.Cmd
	stdin *os.File
	seen  int           // lines of the output that an await has passed
	done  chan struct{} // closed when it has ended and all that it printed is kept
	once  sync.Once

	status int // valid once done is closed
}

// start starts a program with a pipe as its standard input; what it prints is kept.
func (r *run) start(s pcltest.Start) error {
	args, err := r.words(s.Args)
	if err != nil {
		return err
	}
	p := &program{name: s.Name, done: make(chan struct{})}
	if p.name == "" {
		p.name = filepath.Base(args[0])
	}
	if err := r.launch(p, r.command(args), true); err != nil {
		return err
	}
	r.programs = append(r.programs, p)
	if s.Name != "" {
		r.vars[s.Name] = fmt.Sprint(p.pid)
	}
	return nil
}

// command makes a command that runs in the directory of the test.
func (r *run) command(args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = r.dir
	return cmd
}

// launch starts a program and those who look after it.
func (r *run) launch(p *program, cmd *exec.Cmd, listens bool) error {
	if listens {
		in, err := r.pipe(cmd)
		if err != nil {
			return err
		}
		p.stdin = in
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = to, to
	err = r.starter.start(cmd)
	to.Close()
	if in, ok := cmd.Stdin.(*os.File); ok {
		in.Close()
	}
	if err != nil {
		from.Close()
		p.hush()
		return fmt.Errorf("%s cannot be started: %w", cmd.Args[0], err)
	}
	p.cmd, p.pid = cmd, cmd.Process.Pid
	go p.watch(from, r.printer(p, p.name))
	return nil
}

// pipe gives a command a standard input and returns its other end.
func (r *run) pipe(cmd *exec.Cmd) (*os.File, error) {
	from, to, err := os.Pipe()
	if err == nil {
		cmd.Stdin = from
	}
	return to, err
}

// hush closes the standard input.
func (p *program) hush() {
	if p.stdin != nil {
		p.stdin.Close()
	}
}

// drain is how long what a program has printed may take to arrive once it has ended: a child of it may keep the pipe open.
const drain = time.Second

// watch reads what a program prints and notes how it ended.
//
// It may not simply wait for the program: this process also traces it from time to time, and a wait takes away the stops that
// the tracing thread waits for. A pidfd becomes readable only at the end. What a program has left in its process group is
// ended with it; until the program is waited for, no other process can have that number.
func (p *program) watch(from *os.File, add func(string)) {
	defer close(p.done)
	all := make(chan struct{})
	go func() {
		defer close(all)
		read(from, add)
	}()
	awaitPID(p.pid)
	select {
	case <-all:
	case <-time.After(drain):
	}
	syscall.Kill(-p.pid, syscall.SIGKILL)
	p.cmd.Wait()
	from.Close()
	<-all
	p.status = statusOf(p.cmd.ProcessState)
}

// awaitPID returns when a child of this process has ended.
func awaitPID(pid int) {
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

// statusOf is the exit status as a shell tells it: 128 + the signal for a process that was killed; -1 if it is not known.
func statusOf(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// over reports whether the program has ended.
func (p *program) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ended says how the program ended, for a message.
func (p *program) ended() string {
	if p.over() {
		return fmt.Sprintf(" has ended with %d", p.status)
	}
	return fmt.Sprintf(" runs as process %d", p.pid)
}

// endWait is how long a program gets to end after SIGTERM.
const endWait = 3 * time.Second

// end ends the program by its number: no more input and SIGTERM first, SIGKILL if that is not enough.
func (p *program) end() {
	p.once.Do(func() {
		p.hush()
		for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			p.cmd.Process.Signal(sig) // fails if it has ended, which done says
			select {
			case <-p.done:
				return
			case <-time.After(endWait):
			}
		}
	})
}

// endPrograms ends what goes on, the last one first.
func (r *run) endPrograms() {
	for i := len(r.programs) - 1; i >= 0; i-- {
		r.programs[i].end()
	}
}

// program finds a program by its name; "" is the one that was started last.
func (r *run) program(name string) (*program, error) {
	for i := len(r.programs) - 1; i >= 0; i-- {
		if name == "" || r.programs[i].name == name {
			return r.programs[i], nil
		}
	}
	return nil, fmt.Errorf("no program %q was started", name)
}

// say writes a line.
func (r *run) say(s pcltest.Say) error {
	p, err := r.program(s.To)
	if err != nil {
		return err
	}
	text, err := s.Text.Expand(r.value)
	if err != nil {
		return err
	}
	p.stdin.SetWriteDeadline(time.Now().Add(endWait))
	if _, err := io.WriteString(p.stdin, text+"\n"); err != nil {
		return fmt.Errorf("%s does not listen (it%s): %w", p.name, p.ended(), err)
	}
	return nil
}

// runTime bounds a program that a test runs to its end.
const runTime = 2 * time.Minute

// runCommand runs a program to its end.
func (r *run) runCommand(words []pcltest.Word) error {
	args, err := r.words(words)
	if err != nil {
		return err
	}
	p := &program{name: filepath.Base(args[0]), done: make(chan struct{})}
	if err := r.launch(p, r.command(args), false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, runTime)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.end()
		return fmt.Errorf("%s ran for %v and was ended", p.name, runTime)
	}
	if p.status == 0 {
		return nil
	}
	return fmt.Errorf("%s ended with %d: %s", p.name, p.status, strings.Join(r.out.tail(p, 5), " | "))
}
