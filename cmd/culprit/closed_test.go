package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestClosedPipe: who reads no more of the answer (head -1) takes nothing from the exit status, nor from the report; what cannot be written for another reason is a
// failure.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	into := func(write string, args ...string) *tool {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := &tool{t: t, report: t.TempDir() + "/report.json"}
		c.cmd = exec.Command("sh", "-c", "exec \"$@\" "+write, "sh", self, "attach", fmt.Sprint(p.PID), "--for", "6s", "--no-tui")
		c.cmd.Args = append(c.cmd.Args, args...)
		c.cmd.Env = append(os.Environ(), beCulprit+"=1")
		for i := range c.cmd.Args {
			c.cmd.Args[i] = strings.ReplaceAll(c.cmd.Args[i], "@REPORT", c.report)
		}
		return c
	}
	run := func(c *tool, closed bool, want int) {
		t.Helper()
		c.cmd.Stderr = &c.errOut
		if closed {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			defer w.Close()
			c.cmd.Stdout, c.cmd.Stderr = w, w
		}
		err := c.cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := c.cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("exit status %d, want %d\n%s", got, want, c.story())
		}
	}
	c := into("", "--quiet", "--json", "@REPORT")
	run(c, true, exitBottleneck)
	if r := c.read(); len(r.Bottlenecks) == 0 || !r.RemovedClean {
		t.Errorf("%+v", r)
	}
	run(into("", "--json", "-"), true, exitBottleneck)
	run(into(">/dev/full", "--quiet"), false, exitFailed)
	untouched(t, p)
}

// TestTooLittleAddressSpace: it is said in a sentence, before anything is touched.
func TestTooLittleAddressSpace(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kilobytes := range []string{"1700000", "1900000"} {
		var said bytes.Buffer
		cmd := exec.Command("sh", "-c", "ulimit -v "+kilobytes+" && exec \"$@\"", "sh", self, "attach", fmt.Sprint(p.PID), "--for", "3s")
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), beCulprit+"=1"), &said, &said
		err := cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != exitFailed || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "try: ulimit -v unlimited") {
			t.Errorf("ulimit -v %s: exit status %d, %v\n%s", kilobytes, got, err, &said)
		}
	}
	untouched(t, p)
}
