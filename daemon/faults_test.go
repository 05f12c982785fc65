package daemon

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/target"
	"culprit/internal/fault"
	"culprit/internal/testprog"
)

func init() { helpers["restorer"] = restorer }

// restorer is a culprit that restores a process.
func restorer(args []string) int {
	pid, err := strconv.Atoi(args[0])
	if err == nil {
		_, err = target.Restore(pid)
	}
	if err != nil {
		println("restorer:", err.Error())
		return 3
	}
	return 0
}

// run runs a helper to its end, with a fault, and returns what it said about its end.
func run(t *testing.T, faultSpec, name string, args ...string) (said string, end error) {
	t.Helper()
	cmd := self(name, args...)
	cmd.Env = append(cmd.Env, fault.Variable+"="+faultSpec)
	var out bytes.Buffer
	cmd.Stderr = &out
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	end = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%s with %s did not end\n%s", name, faultSpec, &out)
	}
	return out.String(), end
}

// killed reports whether a process ended by SIGKILL, and ended otherwise with which status.
func endOf(err error) (killed bool, status int) {
	var ee *exec.ExitError
	if !errors.As(err, &ee) {
		return false, 0
	}
	ws := ee.Sys().(syscall.WaitStatus)
	return ws.Signaled() && ws.Signal() == syscall.SIGKILL, ws.ExitStatus()
}

// TestFaultPoints has every step go wrong on one live target, in the long form in every way: the tool is killed there, or the step fails. The
// target lives on, nothing stays behind after a restore, and the same request succeeds afterwards.
func TestFaultPoints(t *testing.T) {
	t.Parallel() // those that trace are processes of their own
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	p := testprog.StartTarget(t, bin)
	names := fault.Names()
	faults := 0
	if len(names) < 15 {
		t.Fatalf("only %d fault points: %v", len(names), names)
	}
	actions := []string{"kill-self", "error"}
	if *long {
		actions = append(actions, "panic", "sleep", "exit-thread")
	}
	for _, name := range names {
		for _, f := range few(faultsAt(name, actions), 4) {
			faultAt(t, p, name, f.nth, f.action)
			faults++
		}
	}
	if said, end := run(t, "", "victim", strconv.Itoa(p.PID), "once"); end != nil {
		t.Errorf("without a fault: %v\n%s", end, said)
	}
	detachClean(t, attachTo(t, p.PID), p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	t.Logf("day %d: %d faults at %d points, %v", day, faults, len(names), actions)
}

// A faultOf is what happens at a pass of a point.
type faultOf struct {
	action string
	nth    int
}

// faultsAt are the faults that there are at a point, pass by pass.
func faultsAt(name string, actions []string) (all []faultOf) {
	if strings.HasPrefix(name, "unload.") {
		return nil // TestCodeMoved comes there
	}
	for _, nth := range nths(name) {
		for _, action := range actions {
			if action == "exit-thread" && name == "batch.prepared" {
				continue // there it would end the test's own goroutine, not the one that traces
			}
			all = append(all, faultOf{action, nth})
		}
	}
	return all
}

// nths are the passes of a point at which it is to act: batches come several times in one run, the rest once.
func nths(name string) []int {
	switch {
	case name == "rows.passing" || name == "segment.passing":
		return []int{1, 2, 3} // the sockets are there, and have names; the target has got a descriptor
	case name == "call.going":
		return []int{1, 4, 5, 6, 8, 20, 40} // three of each call, the second of which makes sockets; TestHalfAnAttach and TestHalfAnEnd come to all
	case !strings.HasPrefix(name, "batch."):
		return []int{1}
	case *long:
		return []int{1, 2, 3, 4}
	}
	return []int{1, 3}
}

// faultAt has one step go wrong. A step of restoring needs something to restore.
func faultAt(t *testing.T, p *testprog.Prog, name string, nth int, action string) {
	t.Helper()
	spec := name + ":" + strconv.Itoa(nth) + ":" + action
	var end error
	var said string
	if strings.HasPrefix(name, "restore.") {
		run(t, "batch.settle:2:kill-self", "victim", strconv.Itoa(p.PID), "once")
		said, end = run(t, spec, "restorer", strconv.Itoa(p.PID))
	} else {
		said, end = run(t, spec, "victim", strconv.Itoa(p.PID), "once")
	}
	killed, status := endOf(end)
	if !p.Alive() {
		t.Fatalf("%s: the target has died: status %d, last lines %q; the tool: %v\n%s", spec, p.Wait(t, time.Second), last(p.Lines(), 3), end, said)
	}
	p.MustBeat(t, 10*time.Second)
	switch {
	case (action == "kill-self") != killed:
		t.Errorf("%s: ended with %v\n%s", spec, end, said)
	case action == "error" && status != 0 && status != 3:
		t.Errorf("%s: ended with %v\n%s", spec, end, said)
	}
	restoreClean(t, p)
}

// TestTargetDiesAtEveryPoint kills the target at steps of every kind, in the long form at every step: the tool says so and ends.
func TestTargetDiesAtEveryPoint(t *testing.T) {
	t.Parallel() // those that trace are processes of their own
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	kills := 0
	for _, name := range fewPoints(fault.Names(), 3) {
		for i, nth := range nths(name) {
			if strings.HasPrefix(name, "restore.") || strings.HasPrefix(name, "unload.") || i > 0 && !*long {
				continue
			}
			killTargetAt(t, bin, name+":"+strconv.Itoa(nth)+":kill-target")
			kills++
		}
	}
	t.Logf("day %d: %d targets were killed", day, kills)
}

// killTargetAt has a target be killed at a pass of a point, and makes sure that it was.
func killTargetAt(t *testing.T, bin, spec string) {
	t.Helper()
	p := testprog.StartTarget(t, bin)
	defer p.Kill()
	said, end := run(t, spec, "victim", strconv.Itoa(p.PID), "once")
	if _, status := endOf(end); status != 0 && status != 3 || strings.Contains(said, "panic") || strings.Contains(said, "goroutine") {
		t.Errorf("%s: the tool ended with %v\n%s", spec, end, said)
	}
	if status := p.Wait(t, 5*time.Second); status != 128+int(syscall.SIGKILL) {
		t.Errorf("%s: the target ended with %d", spec, status)
	}
}
