package neighbours

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestBusiest: a process that computes is told with what it used, and one that sleeps is not.
func TestBusiest(t *testing.T) {
	var pids []int
	for _, script := range []string{"while :; do :; done", "sleep 100; :"} {
		cmd := exec.Command("sh", "-c", script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		pids = append(pids, cmd.Process.Pid)
	}
	var w Watch
	none := func(int) bool { return false }
	time.Sleep(100 * time.Millisecond)
	list := w.Busiest(none)
	if len(list) == 0 || len(list) > most {
		t.Fatalf("%+v", list)
	}
	all := w.latest // on a machine where many compute it is not among the first
	if i := slices.IndexFunc(all, func(n Neighbour) bool { return n.PID == pids[0] }); i < 0 || all[i].Name != "sh" || all[i].CPUs < least || all[i].CPUs > 1.1 {
		t.Errorf("the one that computes: %+v", all)
	}
	if slices.ContainsFunc(all, func(n Neighbour) bool { return n.PID == pids[1] }) {
		t.Errorf("the one that sleeps: %+v", list)
	}
	if left := w.Busiest(func(pid int) bool { return pid == pids[0] }); slices.ContainsFunc(left, func(n Neighbour) bool { return n.PID == pids[0] }) {
		t.Errorf("what is left out is told: %+v", left)
	}
	began := time.Now()
	if w.Busiest(none); time.Since(began) > first/2 {
		t.Errorf("the second answer took %v", time.Since(began))
	}
}
