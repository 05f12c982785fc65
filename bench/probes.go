package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"culprit/daemon"
	"culprit/grid"
	"culprit/pcl"
)

// A loop is the running test program.
type loop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	dir string
}

func startLoop(threads int) (*loop, error) {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "loop")
	if out, err := exec.Command("gcc", "-O2", "-g", "-pthread", "-o", bin, "bench/target/loop.c").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building bench/target/loop.c (run from the top of the source tree): %v\n%s", err, out)
	}
	l := &loop{cmd: exec.Command(bin, strconv.Itoa(threads)), dir: dir}
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewReader(stdout)
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = l.out.ReadString('\n')
	return l, err
}

func (l *loop) stop() {
	l.in.Close()
	l.cmd.Wait()
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

// nobody takes values and drops them.
type nobody struct{}

func (nobody) Sample(grid.PairKey, float64, float64, float64) {}

// added measures what a pair adds to a call: bare and probed rounds alternate, the median of the differences counts.
func added(l *loop, d *daemon.Daemon, what, metric, focus string, rounds int) (bare, extra float64, err error) {
	f, err := grid.ParseFocus(focus)
	if err != nil {
		return 0, 0, err
	}
	key := []grid.PairKey{{Metric: metric, Focus: f}}
	var bares, diffs []float64
	for range rounds {
		without, err := l.ask(what)
		if err != nil {
			return 0, 0, err
		}
		if r := d.Enable(key, nobody{}); r[0].Err != nil {
			return 0, 0, r[0].Err
		}
		with, err := l.ask(what)
		d.Disable(key)
		d.Settle()
		if err != nil {
			return 0, 0, err
		}
		bares, diffs = append(bares, without), append(diffs, with-without)
	}
	return median(bares), median(diffs), nil
}

// probes measures the primitives.
func probes(r *Result, rounds int) error {
	l, err := startLoop(4)
	if err != nil {
		return err
	}
	defer l.stop()
	lib, _, err := pcl.Load(pcl.Options{})
	if err != nil {
		return err
	}
	d, err := daemon.Attach(context.Background(), daemon.Options{Library: lib}, l.cmd.Process.Pid)
	if err != nil {
		return err
	}
	defer d.Detach()
	if r.CallNS, r.CounterNS, err = added(l, d, "l", "procedure_calls", "/Code/loop.c/leaf", rounds); err != nil {
		return err
	}
	if _, r.Counter4NS, err = added(l, d, "m", "procedure_calls", "/Code/loop.c/leaf", rounds); err != nil {
		return err
	}
	if _, r.WallTimerPairNS, err = added(l, d, "t", "exec_time_inclusive", "/Code/loop.c/timed", rounds); err != nil {
		return err
	}
	if _, r.CPUTimerPairNS, err = added(l, d, "t", "cpu_inclusive", "/Code/loop.c/timed", rounds); err != nil {
		return err
	}
	if r.RDTSCPairNS, err = l.ask("r"); err != nil {
		return err
	}
	if r.ThreadCPUTimeNS, err = l.ask("c"); err != nil {
		return err
	}
	r.CounterPerLimit = r.WallTimerPairNS / r.RDTSCPairNS
	r.UprobeNS, err = uprobe(l, rounds)
	return err
}
