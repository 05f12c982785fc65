package daemon

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
	"culprit/trampoline"
)

// attachPassages attaches with the metric that counts entries and exits.
func attachPassages(t *testing.T, pid int) *Daemon {
	t.Helper()
	lib, problems, err := pcl.Load(pcl.Options{Texts: []string{passages}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	d, err := Attach(t.Context(), Options{Library: lib, Log: func(s string) { t.Log(s) }}, pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if clean, err := d.Detach(); !clean && err != nil {
			t.Errorf("detach: %v", err)
		}
	})
	return d
}

var narrow = []string{"push_call", "push_loop", "bare_return", "two_bytes", "short_returns"}

func narrowKeys(t *testing.T) (keys []grid.PairKey) {
	for _, n := range narrow {
		keys = append(keys, key(t, "passages", "/Code/narrow.c/"+n))
	}
	return keys
}

var narrowBuilds = map[string][]string{"pie": nil, "nopie": {"-no-pie", "-fno-pie"}, "static": {"-static"}, "endbr": {"-fcf-protection=full"}}

// TestNarrowFunctions: entries and exits where no jump fits are counted exactly, by several threads at once.
func TestNarrowFunctions(t *testing.T) {
	for name, flags := range narrowBuilds {
		t.Run(name, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/narrow.c", flags...), "500000", "4")
			d := attachPassages(t, p.PID)
			keys := narrowKeys(t)
			var s sums
			d.mustEnable(t, &s, keys...)
			if used := usedTactics(d); used[trampoline.Punned] < 3 || used[trampoline.Evicted] < 2 {
				t.Errorf("sites %v: the test is about others", used)
			}
			p.Say(t, "go")
			p.Expect(t, "DONE", time.Minute)
			d.Disable(keys)
			for i, n := range narrow {
				if got, want := uint64(s.of(keys[i])), 2*p.Counts()[n]; got != want || want == 0 {
					t.Errorf("%s: %d entries and exits counted, the program made %d", n, got, want)
				}
			}
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}

// TestNarrowFunctionsInAndOut puts the same probes in and takes them out while the functions run: the work is undisturbed.
func TestNarrowFunctionsInAndOut(t *testing.T) {
	rounds, calls := 40, "2000000"
	if *long {
		rounds, calls = 2000, "60000000"
	}
	for name, flags := range narrowBuilds {
		t.Run(name, func(t *testing.T) {
			bin := testprog.Build(t, "testdata/targets/narrow.c", flags...)
			args := []string{calls, "3"}
			alone := testprog.StartTarget(t, bin, args...)
			alone.Say(t, "go")
			p := testprog.StartTarget(t, bin, args...)
			d := attachPassages(t, p.PID)
			keys := narrowKeys(t)
			var s sums
			p.Say(t, "go")
			for i := range rounds {
				d.mustEnable(t, &s, keys[i%len(keys):]...)
				d.mustEnable(t, &s, keys[:i%len(keys)]...)
				d.Disable(keys)
			}
			alone.Expect(t, "DONE", time.Minute)
			p.Expect(t, "DONE", time.Minute)
			t.Logf("%d inserted, pauses %+v", d.inserted, d.Overhead().Pauses)
			detachClean(t, d, p.PID)
			if got, want := p.Stop(t), alone.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
		})
	}
}

// TestNarrowFunctionsOfChildren: a forked child has the jumps that its parent had, and runs while the parent's change and go. It
// is restored from the files, as the ledger is its parent's.
func TestNarrowFunctionsOfChildren(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/narrow.c"))
	d := attachPassages(t, p.PID)
	keys := narrowKeys(t)
	var s sums
	var children []int
	for i := range 3 {
		d.mustEnable(t, &s, keys...)
		var pid int
		p.Say(t, "child")
		if _, err := fmt.Sscanf(p.Expect(t, "CHILD ", 5*time.Second), "CHILD %d", &pid); err != nil {
			t.Fatal(err)
		}
		children = append(children, pid)
		for j := range 5 {
			d.Disable(keys[j:])
			if i == 1 {
				d.Settle()
			}
			d.mustEnable(t, &s, keys[j:]...)
		}
		d.Disable(keys)
	}
	detachClean(t, d, p.PID)
	for _, pid := range children {
		before, err := Verify(pid)
		if err != nil || before.DifferingBytes == 0 {
			t.Errorf("child %d was born with probes: %+v, %v", pid, before, err)
		}
		if r, err := Restore(pid); err != nil || r.Restored == 0 || !r.Unmapped {
			t.Errorf("restoring child %d: %+v, %v", pid, r, err)
		}
		if after, err := Verify(pid); err != nil || !after.Clean() {
			t.Errorf("child %d afterwards: %+v, %v", pid, after, err)
		}
	}
	p.MustBeat(t, 5*time.Second)
	for _, pid := range children {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("child %d: %v", pid, err)
		}
	}
	p.Stop(t)
}

func usedTactics(d *Daemon) map[trampoline.Tactic]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	used := map[trampoline.Tactic]int{}
	for _, s := range d.targets[0].sites {
		if s.base != nil {
			used[s.Tactic]++
		}
	}
	return used
}
