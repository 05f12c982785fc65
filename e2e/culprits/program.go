package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"culprit/internal/testprog"
)

// A subject is something that culprit is to search in.
type subject struct {
	name   string
	expect *expectation
	// begin starts it with its files in a directory, and returns when its steady behaviour has begun.
	begin func(dir string) (*running, error)
}

// A running subject. stop ends it; without that its processes stay until the runner ends.
type running struct {
	pid  int
	stop func() error
}

// programs are those of testdata/culprits, by name.
func programs(root string) ([]subject, error) {
	var all []subject
	for _, ext := range []string{"c", "cc", "rs"} {
		files, err := filepath.Glob(filepath.Join(root, "testdata", "culprits", "*."+ext))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			e, err := readExpectation(file)
			if err != nil {
				return nil, err
			}
			name := strings.TrimSuffix(filepath.Base(file), "."+ext)
			all = append(all, subject{name, e, func(dir string) (*running, error) { return beginProgram(root, file, e, dir) }})
		}
	}
	slices.SortFunc(all, func(a, b subject) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// buildDir is where everything lies that the runner makes.
func buildDir(root string) string { return filepath.Join(root, "build", "culprits") }

// readyWithin is how long a program may take until it is ready.
const readyWithin = 20 * time.Second

func beginProgram(root, source string, e *expectation, dir string) (*running, error) {
	bin, err := testprog.Compile(filepath.Join(buildDir(root), "bin"), source, e.flags...)
	if err != nil {
		return nil, err
	}
	args, err := e.arguments(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = dir
	return beginCommand(cmd)
}

// arguments are those of the comment, with fresh files for FILE and DIR. They keep these names, so that a place can name them.
func (e *expectation) arguments(dir string) ([]string, error) {
	var args []string
	for _, a := range e.args {
		args = append(args, strings.NewReplacer("FILE", filepath.Join(dir, "FILE"), "DIR", filepath.Join(dir, "DIR")).Replace(a))
	}
	if strings.Contains(strings.Join(e.args, " "), "DIR") {
		return args, os.Mkdir(filepath.Join(dir, "DIR"), 0o700)
	}
	return args, nil
}

// beginCommand starts a program and waits until it prints "ready". What it prints later is thrown away.
func beginCommand(cmd *exec.Cmd) (*running, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var errOut firstBytes
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirs, &errOut, 2*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	r := &running{pid: cmd.Process.Pid, stop: func() error { return endCommand(cmd) }}
	ready := make(chan bool, 1)
	go listen(out, ready)
	select {
	case ok := <-ready:
		if ok {
			return r, nil
		}
		err = errors.New("it has ended before it was ready")
	case <-time.After(readyWithin):
		err = fmt.Errorf("it is not ready after %v", readyWithin)
	}
	_ = r.stop()                                      // what went wrong is known
	return nil, fmt.Errorf("%w %s", err, errOut.text) // complete, since it was waited for
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct{ text []byte }

// Write implements io.Writer.
func (f *firstBytes) Write(b []byte) (int, error) {
	f.text = append(f.text, b[:min(len(b), 4096-len(f.text))]...)
	return len(b), nil
}

// listen tells whether a line says "ready", and reads on until the end.
func listen(out *os.File, ready chan<- bool) {
	defer out.Close()
	defer close(ready)
	told := false
	for in := bufio.NewScanner(out); in.Scan(); {
		if !told && in.Text() == "ready" {
			told = true
			ready <- true
		}
	}
}

// endCommand kills a program and whatever is left of its children. It is an error if it had ended before.
func endCommand(cmd *exec.Cmd) error {
	children := descendants(cmd.Process.Pid)
	_ = cmd.Process.Kill()                              // fails if it has ended
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // those of its group that were started meanwhile
	err := cmd.Wait()
	for _, c := range children {
		c.kill()
	}
	var exit *exec.ExitError
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && errors.As(err, &exit) && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("it has ended by itself: %v", cmd.ProcessState)
}
