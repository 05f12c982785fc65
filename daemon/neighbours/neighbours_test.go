package neighbours

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// TestShortLives: who has children that compute and end is told with what they use, and with no more of one that has computed before.
func TestShortLives(t *testing.T) {
	start := func(script string) int {
		cmd := exec.Command("sh", "-c", script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd.Process.Pid
	}
	busy := "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
	many := start("while :; do sh -c '" + busy + "'; done")
	waits := start("timeout 2 sh -c 'while :; do :; done'; exec sleep 100")
	w, none := Watch{}, func(int) bool { return false }
	time.Sleep(1700 * time.Millisecond)
	w.Busiest(none)
	at := func(pid int) float64 {
		for _, n := range w.latest {
			if n.PID == pid {
				return n.CPUs
			}
		}
		return 0
	}
	if n := at(many); n < 0.15 || n > 1.1 { // two or three want the CPUs
		t.Errorf("who has children that end uses %g CPUs: %+v", n, w.latest)
	}
	if n := at(waits); n > 0.7 { // 0.3 s of 0.7 s at most, and not the two seconds
		t.Errorf("who has waited for one that computed before uses %g CPUs: %+v", n, w.latest)
	}
}

// TestMayMeet: two processes that are bound to different CPUs do not take each other's.
func TestMayMeet(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for i := range 1024 {
		if all.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	bound := func(to ...int) int {
		cmd := exec.Command("sleep", "100")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		var set unix.CPUSet
		for _, i := range to {
			set.Set(i)
		}
		if err := unix.SchedSetaffinity(cmd.Process.Pid, &set); err != nil {
			t.Fatal(err)
		}
		return cmd.Process.Pid
	}
	one, last, any := bound(cpus[0]), bound(cpus[len(cpus)-1]), bound(cpus...)
	if !MayMeet(one, any) || !MayMeet(one, one) || MayMeet(one, last) != (len(cpus) == 1) {
		t.Errorf("on the first CPU and on any: %v; on the first and on the last of %d: %v", MayMeet(one, any), len(cpus), MayMeet(one, last))
	}
}
