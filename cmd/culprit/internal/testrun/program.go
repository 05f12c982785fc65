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

	"culprit/cmd/culprit/internal/launch"
	"culprit/pcl/pcltest"
)

// A program was started by a test. endPrograms ends it. It is done when it has ended and all that it printed is kept.
type program struct {
	*launch.Program
	name  string
	stdin *os.File
	seen  int // lines of the output that an await has passed
	once  sync.Once
}

// start starts a program with a pipe as its standard input; what it prints is kept.
func (r *run) start(s pcltest.Start) error {
	args, err := r.words(s.Args)
	if err != nil {
		return err
	}
	p := &program{name: s.Name}
	if p.name == "" {
		p.name = filepath.Base(args[0])
	}
	if err := r.launch(p, r.command(args), true); err != nil {
		return err
	}
	r.programs = append(r.programs, p)
	if s.Name != "" {
		r.vars[s.Name] = fmt.Sprint(p.PID)
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
	all := make(chan struct{})
	p.Program, err = launch.StartCommand(cmd, launch.Hooks{Start: r.starter.start, Ended: func(pid int) { endOutput(pid, from, all) }})
	to.Close()
	if in, ok := cmd.Stdin.(*os.File); ok {
		in.Close()
	}
	if err != nil {
		from.Close()
		p.hush()
		return fmt.Errorf("%s cannot be started: %w", cmd.Args[0], err)
	}
	go func() {
		defer close(all)
		read(from, r.printer(p, p.name))
	}()
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

// endOutput ends the reading of what a program printed, which closes all when it is done. What a program that has ended left in
// its process group is ended with it.
func endOutput(pid int, from *os.File, all <-chan struct{}) {
	select {
	case <-all:
	case <-time.After(drain):
	}
	syscall.Kill(-pid, syscall.SIGKILL)
	from.Close()
	<-all
}

// status is the exit status of a program that has ended, as a shell tells it; -1 if it is not known.
func (p *program) status() int {
	if code, _ := p.ExitCode(false); code != nil {
		return *code
	}
	return -1
}

// ended says how the program ended, for a message.
func (p *program) ended() string {
	if p.Over() {
		return fmt.Sprintf(" has ended with %d", p.status())
	}
	return fmt.Sprintf(" runs as process %d", p.PID)
}

// endWait is how long a program gets to end after SIGTERM.
const endWait = 3 * time.Second

// end ends the program: it gets no more input, and signals.
func (p *program) end() {
	p.once.Do(func() {
		p.hush()
		p.End(endWait)
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
	p := &program{name: filepath.Base(args[0])}
	if err := r.launch(p, r.command(args), false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, runTime)
	defer cancel()
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.end()
		return fmt.Errorf("%s ran for %v and was ended", p.name, runTime)
	}
	if p.status() == 0 {
		return nil
	}
	return fmt.Errorf("%s ended with %d: %s", p.name, p.status(), strings.Join(r.out.tail(p, 5), " | "))
}
