package daemon

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// A shell starts a program after the attach: it is measured with what was asked for before, and left clean.
func TestChildrenThatExecuteAreFollowed(t *testing.T) {
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
	child := 0
	for _, i := range d.Targets() {
		if i.PID != p.PID && !i.Ended {
			child = i.PID
		}
	}
	if s.of(key(t, "io_ops", "/")) == 0 {
		t.Error("a pair that was enabled before the child came does not cover it")
	}
	detachClean(t, d, child)
	p.Stop(t)
}
