package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/internal/fault"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestHalfAnAttach has a thread of the target not come back in time from each of the calls that attaching makes in it, as on a busy machine.
// What the attempt has put there is taken out before the next one, which succeeds; nothing is left after the detach.
func TestHalfAnAttach(t *testing.T) {
	const calls = 19
	passes := passesOf(calls)
	halves := [][]int{passes, passes}
	if !*long { // what is called is the same in both
		halves = [][]int{few(passes, 8), few(passes[4:], 8)}
	}
	for i, name := range []string{"testdata/targets/vforker.c", "testdata/targets/selfcheck.c"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, name))
			before := descriptorsOf(p.PID)
			for _, n := range halves[i] {
				attachGivenUp(t, p, fmt.Sprintf("call.going:%d:error", n))
				if after := descriptorsOf(p.PID); after != before {
					t.Errorf("call.going:%d: descriptors %s, before %s", n, after, before)
					before = after
				}
			}
			p.Stop(t)
			t.Logf("day %d: passes %v", day, halves[i])
		})
	}
}

// passesOf are the passes of the point call.going in so many calls: three of each.
func passesOf(calls int) (all []int) {
	for n := range 3 * calls {
		all = append(all, n+1)
	}
	return all
}

// attachGivenUp attaches with a fault, and detaches.
func attachGivenUp(t *testing.T, p *testprog.Prog, spec string) {
	t.Helper()
	if err := fault.Set(spec); err != nil {
		t.Fatal(err)
	}
	defer fault.Set("")
	d, err := Attach(t.Context(), Options{Library: library(t), Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		if !p.Alive() {
			t.Fatalf("%s: the target has died: status %d, last lines %q: %v", spec, p.Wait(t, time.Second), last(p.Lines(), 3), err)
		}
		t.Errorf("%s: %v", spec, err)
		restoreClean(t, p)
		return
	}
	detachClean(t, d, p.PID)
	p.MustBeat(t, 10*time.Second)
}

// descriptorsOf are the descriptors that a process has open.
func descriptorsOf(pid int) string {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for i, fd := range fds {
		link, _ := os.Readlink(fd)
		fds[i] = filepath.Base(fd) + " " + link
	}
	return strings.Join(fds, ", ")
}

// TestHalfAnEnd has a thread not come back in time from each of the calls that mapping the per-thread statistics and detaching make: both are
// done all the same, and nothing is left.
func TestHalfAnEnd(t *testing.T) {
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	before := descriptorsOf(p.PID)
	for _, step := range []struct {
		name  string
		calls int
	}{{"rows", 10}, {"detach", 8}} {
		for _, n := range few(passesOf(step.calls), 5) {
			d := attachTo(t, p.PID)
			tg := d.targets[0]
			mapRows := func() error {
				d.lockAll()
				defer d.unlockAll()
				return tg.Stats.Map(tg.Stops.Stop)
			}
			spec := fmt.Sprintf("call.going:%d:error", n)
			if err := fault.Set(spec); err != nil {
				t.Fatal(err)
			}
			if step.name == "rows" {
				err := mapRows()
				if n%2 == 0 {
					for range 20 { // other calls may be late as well where the machine is busy
						if err = mapRows(); err == nil {
							break
						}
					}
				}
				if err != nil && !process.GivenUp(err) {
					t.Errorf("rows, %s: %v", spec, err)
				}
				fault.Set("")
			} else {
				fault.Set("")
				if err := mapRows(); err != nil {
					t.Log(err)
				}
				fault.Set(spec)
			}
			size := tg.Stats.Size()
			detachClean(t, d, p.PID)
			fault.Set("")
			noRowsLeft(t, p.PID)
			if after := descriptorsOf(p.PID); after != before {
				t.Errorf("%s, %s: descriptors %s, before %s", step.name, spec, after, before)
				before = after
			}
			if reserves(t, p.PID, size) {
				t.Errorf("%s, %s: the room for the rows is still reserved", step.name, spec)
			}
			p.MustBeat(t, 10*time.Second)
		}
	}
	p.Stop(t)
}

// reserves reports whether a process has memory of a size that nobody may use.
func reserves(t *testing.T, pid, size int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var lo, hi int
		if n, _ := fmt.Sscanf(line, "%x-%x ---p", &lo, &hi); n == 2 && hi-lo == size && strings.Contains(line, " ---p ") {
			return true
		}
	}
	return false
}
