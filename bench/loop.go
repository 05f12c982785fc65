package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A loop is the running test program.
type loop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	dir string
}

// startLoop builds the program with its threads and starts it.
func startLoop(threads int) (*loop, error) {
	dir, bin, err := build("bench/target/loop.c")
	if err != nil {
		return nil, err
	}
	return runLoop(dir, exec.Command(bin, strconv.Itoa(threads)))
}

// build compiles a program, with these flags besides the usual ones, in a directory of its own.
func build(source string, flags ...string) (dir, bin string, err error) {
	if dir, err = os.MkdirTemp("", "culprit-bench"); err != nil {
		return "", "", err
	}
	bin = filepath.Join(dir, "loop")
	args := append([]string{"-O2", "-g", "-pthread", "-o", bin, source}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", "", fmt.Errorf("building %s (run from the top of the source tree): %v\n%s", source, err, out)
	}
	return dir, bin, nil
}

// loopOf builds a target of one source and starts it.
func loopOf(source string) (*loop, error) {
	dir, bin, err := build(source)
	if err != nil {
		return nil, err
	}
	return runLoop(dir, exec.Command(bin))
}

// runLoop starts the program. stop ends it and removes the directory.
func runLoop(dir string, cmd *exec.Cmd) (l *loop, err error) {
	l = &loop{cmd: cmd, dir: dir}
	l.cmd.Dir = dir
	defer func() {
		if err != nil {
			l.stop()
		}
	}()
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return l, err
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return l, err
	}
	l.out = bufio.NewReader(stdout)
	if err = l.cmd.Start(); err != nil {
		return l, err
	}
	_, err = l.out.ReadString('\n')
	return l, err
}

// stop lets the program end, which it does when it has nothing more to read.
func (l *loop) stop() {
	if l.in != nil {
		l.in.Close()
	}
	if l.cmd.Process != nil {
		l.cmd.Wait()
	}
	os.RemoveAll(l.dir)
}

// ask has the program measure one thing.
func (l *loop) ask(what string) (float64, error) {
	if _, err := fmt.Fprintln(l.in, what); err != nil {
		return 0, err
	}
	line, err := l.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}
