package daemon

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/grid"
	"culprit/internal/testprog"
)

// childOf is a process that is measured beside another one, and has not ended; 0 if there is none.
func childOf(d *Daemon, pid int) (child int) {
	for _, i := range d.Targets() {
		if i.PID != pid && !i.Ended {
			child = i.PID
		}
	}
	return child
}

// A shell starts a program after the attach: it is measured with what was asked for before, and left clean.
func TestChildrenThatExecuteAreFollowed(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/targets/eventloop.c")
	p := testprog.StartCmd(t, exec.Command("sh", "-c", "exec 3<&0; sleep 1; "+bin+" <&3 & wait $!"))
	time.Sleep(300 * time.Millisecond) // until the shell has begun: a process without a thread pointer cannot be measured
	d, err := Attach(context.Background(), Options{Library: library(t), Children: true, Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	var s sums
	cpu := key(t, "cpu", "/")
	d.mustEnable(t, &s, cpu, key(t, "io_ops", "/"))
	p.Expect(t, "READY", 10*time.Second)
	loop := key(t, "exec_time_inclusive", "/Code/eventloop.c/event_loop")
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := d.Enable([]grid.PairKey{loop}, &s)[0].Err
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child is not measured: %v", err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	before, at := s.of(cpu), time.Now()
	time.Sleep(2 * time.Second)
	if used := (s.of(cpu) - before) / time.Since(at).Seconds(); used < 0.05 {
		t.Errorf("%.3f processors: the child's part is missing", used)
	}
	if got := s.of(loop); got < 1.5 {
		t.Errorf("event_loop: %.2f s in 2 s", got)
	}
	child := childOf(d, p.PID)
	if s.of(key(t, "io_ops", "/")) == 0 {
		t.Error("a pair that was enabled before the child came does not cover it")
	}
	detachClean(t, d, child)
	p.Stop(t)
}

// TestDaemonIsFollowed: a program that puts itself into the background ends as soon as it has a child. The session goes on with that, and ends when it has
// ended, too.
func TestDaemonIsFollowed(t *testing.T) {
	p := testprog.StartCmd(t, exec.Command("sh", "-c", "echo READY; read go; (while :; do :; done) <&- >&- 2>&- & exit 3"))
	p.Expect(t, "READY", 10*time.Second)
	d, err := Attach(context.Background(), Options{Library: library(t), Children: true, Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	var s sums
	d.mustEnable(t, &s, key(t, "cpu", "/"))
	p.Say(t, "go")
	child := 0
	for end := time.Now().Add(10 * time.Second); child == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the child is not measured")
		}
		child = childOf(d, p.PID)
	}
	t.Cleanup(func() { unix.Kill(child, unix.SIGKILL) })
	select {
	case <-d.Ended():
		t.Error("the session has ended, and the child runs")
	case <-time.After(2 * time.Second):
	}
	unix.Kill(child, unix.SIGKILL)
	select {
	case <-d.Ended():
	case <-time.After(10 * time.Second):
		t.Error("all have ended, and the session has not")
	}
}

// TestLateJoins: that a process was measured some time after its beginning only is said of what is counted over all processes, and of nothing that
// the kernel keeps.
func TestLateJoins(t *testing.T) {
	p := testprog.StartCmd(t, exec.Command("sh", "-c", "echo READY; read go; sleep 20 & wait $!"))
	p.Expect(t, "READY", 10*time.Second)
	d, err := Attach(context.Background(), Options{Library: library(t), Children: true, Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	var s sums
	ops, cpu := key(t, "io_ops", "/"), key(t, "cpu", "/")
	d.mustEnable(t, &s, ops, cpu)
	time.Sleep(time.Second) // the session is older than the child will be
	d.lockAll()
	p.Say(t, "go")
	time.Sleep(400 * time.Millisecond)
	d.unlockAll()
	for deadline := time.Now().Add(20 * time.Second); len(d.Targets()) < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the child is not measured")
		}
	}
	const said = "1 process that was started meanwhile is measured from "
	if note := d.Notes(ops); !strings.Contains(note, said) {
		t.Errorf("the note of io_ops is %q", note)
	}
	if note := d.Notes(cpu); strings.Contains(note, said) {
		t.Errorf("the note of cpu is %q", note)
	}
	for _, i := range d.Targets() {
		if i.PID != p.PID {
			_ = unix.Kill(i.PID, unix.SIGKILL)
		}
	}
	if clean, err := d.Detach(); !clean {
		t.Error(err)
	}
}
