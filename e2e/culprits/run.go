package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"culprit/internal/servers"
	"culprit/session/report"
)

// options are what the command line says.
type options struct {
	root    string // of the source tree
	culprit string
	span    time.Duration
	rounds  int
	least   float64
	json    string
	servers bool
}

// A result is what culprit said of one program in one round.
type result struct {
	Program  string  `json:"program"`
	Category string  `json:"category"`
	Round    int     `json:"round"`
	Overhead float64 `json:"overhead"`          // share of the program's time, as reported
	Trouble  string  `json:"trouble,omitempty"` // why nothing could be judged, or what went wrong beside it
	verdict
}

// topDirectory is that of the source tree around the working directory.
func topDirectory() (string, error) {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.New("run it inside the source tree")
}

// judgeAll measures each subject as often as asked for, and prints a table.
func judgeAll(ctx context.Context, o *options, subjects []subject, out io.Writer) error {
	if err := os.MkdirAll(filepath.Join(buildDir(o.root), "reports"), 0o755); err != nil {
		return err
	}
	if err := o.build(ctx); err != nil {
		return err
	}
	var all []result
	for i, s := range subjects {
		for round := 1; round <= o.rounds && ctx.Err() == nil; round++ {
			fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(subjects), s.name)
			r, err := o.measure(ctx, s)
			if errors.Is(err, servers.ErrMissing) {
				fmt.Fprintf(os.Stderr, "%s is left out: %v\n", s.name, err)
				break
			}
			r.Round = round
			all = append(all, r)
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.New("interrupted")
	}
	sum := summarise(all)
	if err := errors.Join(writeTable(out, all, o.rounds), writeSummary(out, sum)); err != nil {
		return err
	}
	if o.json != "" {
		if err := writeJSON(o.json, all, sum); err != nil {
			return err
		}
	}
	if sum.Share() < o.least {
		return fmt.Errorf("%w: %.0f %%, expected %.0f %%", errTooFew, sum.Share(), o.least)
	}
	return nil
}

// build builds the culprit that is judged, unless one was named.
func (o *options) build(ctx context.Context) error {
	if o.culprit != "" {
		return nil
	}
	o.culprit = filepath.Join(buildDir(o.root), "culprit")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.culprit, "./cmd/culprit")
	cmd.Dir = o.root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/culprit: %w\n%s", err, text)
	}
	return nil
}

// measure begins a subject, lets culprit search in it, ends it and judges what was found. The error is also in the result.
func (o *options) measure(ctx context.Context, s subject) (res result, err error) {
	res = result{Program: s.name, Category: s.expect.category()}
	res.Level = reach{}.String()
	defer func() {
		if err != nil {
			res.Trouble = err.Error()
		}
	}()
	dir, err := os.MkdirTemp(buildDir(o.root), "run-")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(dir)
	target, err := s.begin(dir)
	if err != nil {
		return res, err
	}
	r, err := o.search(ctx, s.name, target.pid, dir)
	if r != nil {
		res.verdict = judge(s.expect, r)
		res.Overhead = float64(r.Overhead.Observed)
	}
	return res, errors.Join(err, target.stop())
}

// failures are the exit statuses of culprit after which there is nothing to judge: it failed, was used wrongly, may not, or the program has
// ended. The others tell what was found (docs/output.md); -1 is a signal.
var failures = []int{-1, 1, 2, 3, 4}

// beyond is how long culprit may take beside the time that it was given.
const beyond = time.Minute

// search attaches culprit to a process. The report, and what it printed, stay in the build directory.
func (o *options) search(ctx context.Context, name string, pid int, dir string) (*report.Report, error) {
	file := filepath.Join(buildDir(o.root), "reports", name)
	_ = os.Remove(file + ".json") // of an earlier run, or there is none
	ctx, cancel := context.WithTimeout(ctx, o.span+beyond)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.culprit, "attach", "--no-tui", "--for", o.span.String(), "--json", file+".json", strconv.Itoa(pid))
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_RUNTIME_DIR="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it removes its probes
	cmd.WaitDelay = beyond
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	text, err := cmd.CombinedOutput()
	if err := os.WriteFile(file+".txt", text, 0o644); err != nil {
		return nil, err
	}
	if s := cmd.ProcessState; s == nil || slices.Contains(failures, s.ExitCode()) {
		return nil, fmt.Errorf("culprit: %w: %s", err, lastLine(text))
	}
	r, err := report.Read(file + ".json")
	if err == nil && !r.RemovedClean {
		err = errors.New("the report does not say that all probes were removed")
	}
	return r, err
}

func lastLine(text []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return lines[len(lines)-1]
}
