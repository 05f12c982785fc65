package daemon

import (
	"os"
	"os/exec"
	"testing"

	"culprit/daemon/children"
	"culprit/daemon/kernel"
	"culprit/internal/testprog"
)

// TestOwnChildren: what we start ourselves is not taken for a child of a target that has lost its parent, though it runs on our memory, with
// the targets' segments in it, until it executes its program.
func TestOwnChildren(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/loops.c", "-O1"), "300", "1")
	d := attachTree(t, nil, p.PID)
	if !d.watcher.IsElder(os.Getpid()) {
		t.Fatal("we are not among the target's ancestors: nothing is tested")
	}
	done := make(chan error, 1)
	go func() {
		for range 300 {
			if err := exec.Command("true").Run(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var births kernel.Births
	defer births.Close()
	births.Next()
	seen, onOurs := 0, 0
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			running = false
		default:
		}
		for _, b := range births.Next() {
			if b.Parent != os.Getpid() || b.PID == p.PID {
				continue
			}
			seen++
			if children.ForkedOnly(b.PID) {
				onOurs++
			}
			d.enabling.Lock()
			kin := d.watcher.IsKin(b)
			d.enabling.Unlock()
			if kin {
				t.Fatalf("process %d, which we have started, is taken for a target's", b.PID)
			}
		}
	}
	if onOurs == 0 {
		t.Error("none was met while it ran on our memory: nothing is tested")
	}
	t.Logf("%d looks at our children, of which %d ran on our memory", seen, onOurs)
	detachTree(t, d)
	p.Stop(t)
}
