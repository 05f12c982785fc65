package daemon

import (
	"os/exec"
	"testing"

	"culprit/daemon/kernel"
	"culprit/internal/testprog"
)

// TestInterpreters: a program that runs programs of another language is told by what it has loaded, another one is not.
func TestInterpreters(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/sleeper.c"))
	d := attachTo(t, p.PID)
	if got := d.Targets()[0].Interprets; got != "" {
		t.Errorf("a program of C is said to run %s", got)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
	for _, c := range [][]string{{"Python", "/usr/bin/python3", "-c", "import sys; sys.stdin.read()"}, {"Perl", "/usr/bin/perl", "-e", "<STDIN>"}, {"JavaScript", "/usr/bin/node", "-e", "process.stdin.resume()"}} {
		cmd := exec.Command(c[1], c[2:]...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Logf("no %s here: %v", c[0], err)
			continue
		}
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		awaitTruth(t, c[1]+" waits for its input", func() bool {
			call, err := kernel.Blocked(cmd.Process.Pid, cmd.Process.Pid)
			return err == nil && !call.Running
		})
		d := attachTo(t, cmd.Process.Pid)
		if got := d.Targets()[0].Interprets; got != c[0] {
			t.Errorf("%s is said to run %q", c[1], got)
		}
		if clean, err := d.Detach(); !clean || err != nil {
			t.Error(clean, err)
		}
	}
}
