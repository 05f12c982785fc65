package daemon

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestChildrenThatEndTooSoon: what children of a millisecond have used is told, as the kernel accounts it to their parent.
func TestChildrenThatEndTooSoon(t *testing.T) {
	for _, children := range []bool{false, true} {
		p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/forker.c"), "200000")
		p.Say(t, "go")
		d := attachFamily(t, children, p.PID)
		used, _ := d.UnmeasuredChildren()
		if used > 200*time.Millisecond {
			t.Errorf("children %v: what was before the attach counts: %v", children, used)
		}
		before, err := kernel.ReadProcess(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		used, share := d.UnmeasuredChildren()
		after, err := kernel.ReadProcess(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		truth := after.Children - before.Children
		if truth < 200*time.Millisecond || used < truth*7/10 || used > truth+200*time.Millisecond || share < 0.3 || share > 0.95 {
			t.Errorf("children %v: %v, a share of %.2f; the kernel has %v", children, used, share, truth)
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// TestGrandchildrenThatEndTooSoon: what short children of a child have used is known while that child goes on, as that of make is.
func TestGrandchildrenThatEndTooSoon(t *testing.T) {
	require.Tool(t, "bash")
	d := attachParent(t, "bash", "-c", `read a; bash -c 'while :; do bash -c "for ((i = 0; i < 3000; i++)); do :; done"; done'; echo`)
	known := func() time.Duration {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.times.unmeasured
	}
	for end := time.Now().Add(10 * time.Second); known() == 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	grew := 0
	for range 6 {
		before := known()
		if time.Sleep(500 * time.Millisecond); known() > before {
			grew++
		}
	}
	if grew < 5 {
		t.Errorf("it grew in %d of 6 half seconds, to %v", grew, known())
	}
	d.Detach()
}

// TestChildrenNobodyWaitsFor: what they have used comes to no parent, and is told all the same.
func TestChildrenNobodyWaitsFor(t *testing.T) {
	require.Tool(t, "perl")
	d := attachParent(t, "perl", "-e", `$SIG{CHLD} = "IGNORE"; <STDIN>;
		while (1) { if (!fork) { $x += $_ for 1..1000000; exit } select(undef, undef, undef, 0.05) }`)
	time.Sleep(4 * time.Second)
	used, share := d.UnmeasuredChildren()
	if used < 800*time.Millisecond || used > 8*time.Second || share < 0.8 {
		t.Errorf("%v, a share of %.2f, of about 2 s", used, share)
	}
	d.Detach()
}

// TestMeasuredChildrenAreNotMissing: of a child that was measured only what it used before is said to be missing when it has ended.
func TestMeasuredChildrenAreNotMissing(t *testing.T) {
	cmd := exec.Command("/bin/bash", "-c", `read a; (while :; do :; done) & read b; kill $!; wait $!; read c`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no bash: ", err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	pid := cmd.Process.Pid
	d := attachFamily(t, true, pid)
	if used, share := d.UnmeasuredChildren(); used != 0 || share != 0 {
		t.Errorf("nobody has started anything: %v, %v", used, share)
	}
	var s sums
	d.mustEnable(t, &s, key(t, "cpu", "/")) // so that values are taken
	say := func() {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	within := func(what string, until func() bool) {
		for end := time.Now().Add(30 * time.Second); !until(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	say()
	within("the child is not measured", func() bool { return len(d.Targets()) == 2 })
	before, err := kernel.ProcessTime(d.Targets()[1].PID)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	say()
	var k kernel.ProcessTimes
	within("the child has not ended", func() bool { k, err = kernel.ReadProcess(pid); return err != nil || k.Children > 0 })
	within("nobody has seen it end", func() bool { return len(d.Targets()) < 2 || d.Targets()[1].Ended })
	if used, _ := d.UnmeasuredChildren(); used > before+(k.Children-before)/2 {
		t.Errorf("%v are said to be missing of a child that used %v, %v of it before it was measured", used, k.Children, before)
	}
	if clean, err := d.Detach(); !clean || err != nil {
		t.Error(clean, err)
	}
}

// attachParent attaches to a program that starts children when it has read a line, and writes it that line. Values are taken.
func attachParent(t *testing.T, program string, args ...string) *Daemon {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	d := attachFamily(t, true, cmd.Process.Pid)
	var s sums
	d.mustEnable(t, &s, key(t, "cpu", "/")) // so that passes are made
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	return d
}

func attachFamily(t *testing.T, children bool, pid int) *Daemon {
	t.Helper()
	d, err := Attach(context.Background(), Options{Library: library(t), Children: children, Log: func(s string) { t.Log(s) }}, pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return d
}
