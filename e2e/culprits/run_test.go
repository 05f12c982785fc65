package main

//test:alone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/procfs"
	"culprit/internal/testprog"
	"culprit/session/report"
)

// fakeCulprit makes a program that stands in for culprit: it writes a report, and ends with a status.
func fakeCulprit(t *testing.T, r *report.Report, status int) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$5\" = --json ] || exit 9\ncp %s/report.json \"$6\"\necho the last line\nexit %d\n", dir, status)
	path := filepath.Join(dir, "culprit")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "report.json"), text, 0o600), os.WriteFile(path, []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	return path
}

// optionsWith are those of a run in a directory of the test, so that it needs nothing of the source tree.
func optionsWith(t *testing.T, culprit string) *options {
	t.Helper()
	o := &options{root: t.TempDir(), culprit: culprit, span: time.Second, rounds: 1}
	if err := os.MkdirAll(filepath.Join(buildDir(o.root), "reports"), 0o700); err != nil {
		t.Fatal(err)
	}
	return o
}

// shell is a subject that is a script of the shell.
func shell(script string) subject {
	e := &expectation{cause: "x", right: []answer{{[]string{"CPUbound"}, []place{{functionKind, "f"}}}}}
	return subject{"shell", e, func(string) (*running, error) { return beginCommand(exec.Command("/bin/sh", "-c", script)) }}
}

func TestMeasure(t *testing.T) {
	clean := reportOf(found{"CPUbound", []report.Focus{code("a.c/f")}, "f uses"})
	clean.RemovedClean, clean.Overhead.Observed = true, 0.015
	left := reportOf()
	for name, c := range map[string]struct {
		script  string
		report  *report.Report
		status  int
		first   bool
		trouble string
	}{
		"right":                {"echo ready; exec sleep 100", clean, 10, true, ""},
		"a question is open":   {"echo ready; exec sleep 100", clean, 12, true, ""},
		"lines before":         {"echo one; echo already; echo ready; exec sleep 100", clean, 10, true, ""},
		"culprit fails":        {"echo ready; exec sleep 100", clean, 1, false, "culprit: exit status 1: the last line"},
		"the target ended":     {"echo ready; exec sleep 100", clean, 4, false, "culprit: exit status 4"},
		"something is left":    {"echo ready; exec sleep 100", left, 0, false, "does not say that all probes were removed"},
		"it ends before":       {"echo broken >&2; exit 3", clean, 10, false, "it has ended before it was ready broken"},
		"it ends in the midst": {"echo ready; exit 3", clean, 10, true, "it has ended by itself: exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := optionsWith(t, fakeCulprit(t, c.report, c.status)).measure(t.Context(), shell(c.script))
			if (err == nil) != (c.trouble == "") {
				t.Errorf("error: %v", err)
			}
			if r.First != c.first || r.Trouble == "" != (c.trouble == "") || !strings.Contains(r.Trouble, c.trouble) {
				t.Errorf("%+v, should say %q", r, c.trouble)
			}
			if c.first && r.Overhead != 0.015 {
				t.Errorf("overhead %v", r.Overhead)
			}
		})
	}
}

// TestChildrenEnd: children that a program leaves behind are ended with it, and nobody else.
func TestChildrenEnd(t *testing.T) {
	r, err := beginCommand(exec.Command("/bin/sh", "-c", "sleep 100 & (sleep 200 & echo ready; wait)"))
	if err != nil {
		t.Fatal(err)
	}
	children := descendants(r.pid)
	if len(children) < 2 {
		t.Errorf("%d children", len(children))
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	for _, c := range children {
		for deadline := time.Now().Add(5 * time.Second); c.alive(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d goes on", c.pid)
			}
		}
	}
	stranger := exec.Command("sleep", "100")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	process{stranger.Process.Pid, 1}.kill() // one of another time had its number
	if err := syscall.Kill(stranger.Process.Pid, 0); err != nil || !(process{stranger.Process.Pid, startOf(t, stranger.Process.Pid)}).alive() {
		t.Errorf("a stranger was ended: %v", err)
	}
	_ = stranger.Process.Kill()
	_ = stranger.Wait()
}

func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	s, err := procfs.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return s.Start
}

func TestJudgeAll(t *testing.T) {
	right := reportOf(found{"CPUbound", []report.Focus{code("a.c/f")}, "f uses"})
	right.RemovedClean = true
	o := optionsWith(t, fakeCulprit(t, right, 10))
	o.rounds, o.json = 2, filepath.Join(t.TempDir(), "out.json")
	two := []subject{shell("echo ready; exec sleep 100"), shell("echo ready; exec sleep 100")}
	two[1].name, two[1].expect = "healthy", &expectation{cause: "x", healthy: true}
	var b strings.Builder
	if err := judgeAll(t.Context(), o, two, &b); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^shell +2/2 +2/2 +2/2 +place`).MatchString(b.String()) || !strings.Contains(b.String(), "50 % of the first findings are right.") {
		t.Errorf("\n%s", b.String())
	}
	text, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Results []result
		Summary summary
	}
	if err := json.Unmarshal(text, &got); err != nil || len(got.Results) != 4 || got.Results[1].Round != 2 || !got.Results[0].First || got.Summary.All.First != 2 {
		t.Errorf("%v: %s", err, text)
	}
	o.least = 51
	if err := judgeAll(t.Context(), o, two, &b); !errors.Is(err, errTooFew) {
		t.Errorf("half of them are right, and 51 %% were wanted: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := judgeAll(ended, o, two, &b); err == nil || err.Error() != "interrupted" {
		t.Errorf("interrupted: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(buildDir(o.root), "run-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestChoose(t *testing.T) {
	o := &options{root: testprog.Root(t)}
	if _, err := choose(o, regexp.MustCompile("^no such program$")); err == nil {
		t.Error("no program matches, and nobody says so")
	}
	if list, err := choose(o, regexp.MustCompile("^hotloop$")); err != nil || len(list) != 1 || list[0].expect.category() != "cpu" {
		t.Errorf("%v, %v", list, err)
	}
	for want, wrong := range map[string]*options{"-rounds: expected 1": {rounds: 0}} {
		if err := start(wrong, "", false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, should say %s", err, want)
		}
	}
	if err := start(&options{rounds: 1}, "(", false); err == nil || !strings.Contains(err.Error(), "-run: ") {
		t.Errorf("%v", err)
	}
}
