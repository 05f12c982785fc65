package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"culprit/internal/servers"
)

// A scene is a server with whoever loads it, each with how it is ended. Its directory can be entered by other users, too.
type scene struct {
	dir  string
	ends []func() error
}

// served is a subject whose server and loads are started by a function, which gives the process to attach to.
func served(name, head string, set func(s *scene) (pid int, err error)) subject {
	e, err := parseExpectation(head)
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", name, err)) // a test reads all of them
	}
	return subject{name, e, func(string) (*running, error) {
		s := &scene{}
		pid, err := s.begin(set)
		if err != nil {
			return nil, errors.Join(err, s.end())
		}
		return &running{pid, s.end}, nil
	}}
}

// steadyAfter is how long the loads run before culprit comes.
const steadyAfter = time.Second

func (s *scene) begin(set func(s *scene) (int, error)) (pid int, err error) {
	if s.dir, err = os.MkdirTemp("", "culprit-server"); err != nil {
		return 0, err
	}
	s.later(func() error { return os.RemoveAll(s.dir) })
	if pid, err = set(s); err == nil {
		time.Sleep(steadyAfter)
	}
	return pid, err
}

// later has something done at the end, before what was begun earlier is ended.
func (s *scene) later(end func() error) { s.ends = append(s.ends, end) }

func (s *scene) end() error {
	var errs []error
	for _, end := range slices.Backward(s.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// load runs a program until the end. It is an error if it ends before.
func (s *scene) load(cmd *exec.Cmd, err error) error {
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.later(func() error {
		if err := endCommand(cmd); err != nil {
			return fmt.Errorf("the load %s: %w", filepath.Base(cmd.Path), err)
		}
		return nil
	})
	return nil
}

// program starts one that says "ready".
func (s *scene) program(cmd *exec.Cmd, err error) (pid int, _ error) {
	if err != nil {
		return 0, err
	}
	cmd.Dir = s.dir
	r, err := beginCommand(cmd)
	if err != nil {
		return 0, err
	}
	s.later(r.stop)
	return r.pid, nil
}

// file writes a file of the scene and gives its path.
func (s *scene) file(name, text string) (path string, err error) {
	path = filepath.Join(s.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// command is a program at the first of these places, or in PATH.
func command(names []string, args ...string) (*exec.Cmd, error) {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return exec.Command(path, args...), nil
		}
	}
	return nil, fmt.Errorf("needs %s: %w", names[len(names)-1], servers.ErrMissing)
}

// run runs a program to its end.
func run(cmd *exec.Cmd, err error) error {
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
