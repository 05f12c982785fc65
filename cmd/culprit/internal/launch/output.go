package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// An Output says where the output of a program goes.
type Output int

// The outputs.
const (
	Through     Output = iota // to ours, untouched
	StderrOnly                // all of it to our standard error: our standard output has other uses
	UntilFinish               // to a file, which Finish prints: the terminal has other uses
)

// Start starts a program with our standard streams, in a process group of its own, so that Ctrl-C on a terminal does not end
// it. Its standard input is /dev/null if ours is a terminal. It is the only child of this process, but for this program itself: other children would
// be taken for what it has left behind. The error says whether it is missing or may not be executed.
func Start(args []string, out Output) (*Program, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if term.IsTerminal(int(os.Stdin.Fd())) {
		cmd.Stdin = nil
	}
	var spool *os.File
	switch out {
	case StderrOnly:
		cmd.Stdout = os.Stderr
	case UntilFinish:
		f, err := os.CreateTemp("", "culprit-run-*.out")
		if err != nil {
			return nil, fmt.Errorf("no file for the output of the program: %w", err)
		}
		spool, cmd.Stdout, cmd.Stderr = f, f, f
	}
	adopt(1)
	p, err := StartCommand(cmd, Hooks{})
	if err != nil {
		adopt(0)
		drop(spool)
		return nil, startError(args[0], err)
	}
	p.spool, p.adopts = spool, true
	return p, nil
}

// Finish prints the output that was held back. A program that goes on keeps writing to the file.
func (p *Program) Finish() {
	if p.spool == nil {
		return
	}
	if _, err := p.spool.Seek(0, io.SeekStart); err == nil {
		io.Copy(os.Stdout, p.spool)
	}
	if p.Over() {
		drop(p.spool)
		return
	}
	fmt.Fprintf(os.Stderr, "culprit: the program goes on; its output is in %s\n", p.spool.Name())
	p.spool.Close()
}

func drop(spool *os.File) {
	if spool != nil {
		spool.Close()
		os.Remove(spool.Name())
	}
}
