package daemon

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl/check"
	"culprit/trampoline/planner"
)

// attachPassages attaches with the metric that counts entries and exits.
func attachPassages(t *testing.T, pid int) *Daemon {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: []string{passages}})
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

var narrow = []string{"push_call", "push_loop", "bare_return", "two_bytes", "short_returns", "call_first", "two_call", "three_call", "four_call", "endbr_call", "short_tail",
	"page_entry", "page_return", "page_tail"}

func narrowKeys(t *testing.T) (keys []grid.PairKey) {
	for _, n := range narrow {
		keys = append(keys, key(t, "passages", "/Code/narrow.c/"+n))
	}
	return keys
}

var narrowBuilds = map[string][]string{"pie": nil, "nopie": {"-no-pie", "-fno-pie"}, "static": {"-static"}, "endbr": {"-fcf-protection=full"}}

// TestNarrowFunctions: entries and exits where no jump fits are counted exactly, by several threads at once.
func TestNarrowFunctions(t *testing.T) {
	t.Parallel()
	for name, flags := range narrowBuilds {
		t.Run(name, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/narrow.c", flags...), "200000", "4")
			d := attachPassages(t, p.PID)
			keys := narrowKeys(t)
			var s sums
			d.mustEnable(t, &s, keys...)
			checkForms(t, d)
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
	t.Parallel()
	rounds, calls := 40, "800000"
	if *long {
		rounds, calls = 2000, "25000000"
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
			deferred := 0
			for i := range rounds {
				deferred += d.enableInTime(t, &s, keys[i%len(keys):])
				deferred += d.enableInTime(t, &s, keys[:i%len(keys)])
				d.Disable(keys)
			}
			alone.Expect(t, "DONE", time.Minute)
			p.Expect(t, "DONE", time.Minute)
			t.Logf("%d inserted, pauses %+v, %d times put off", d.session.Patches.Inserted.Load(), d.Overhead().Pauses, deferred)
			detachClean(t, d, p.PID)
			if got, want := p.Stop(t), alone.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
		})
	}
}

// enableInTime enables pairs, and again what was put off because a thread did not get a processor to stop on: with others on
// the machine that happens. It returns how often.
func (d *Daemon) enableInTime(t *testing.T, sink grid.Sink, keys []grid.PairKey) (deferred int) {
	t.Helper()
	for range 20 {
		var again []grid.PairKey
		for _, r := range d.Enable(keys, sink) {
			var put grid.ErrDeferred
			switch {
			case errors.As(r.Err, &put):
				again = append(again, r.Key)
			case r.Err != nil:
				t.Fatalf("%s: %v", r.Key, r.Err)
			}
		}
		if keys = again; len(keys) == 0 {
			return deferred
		}
		deferred++
	}
	t.Fatalf("%v: put off again and again", keys)
	return deferred
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
		before, err := patch.Verify(pid)
		if err != nil || before.DifferingBytes == 0 {
			t.Errorf("child %d was born with probes: %+v, %v", pid, before, err)
		}
		if r, err := target.Restore(pid); err != nil || r.Restored == 0 || !r.Unmapped {
			t.Errorf("restoring child %d: %+v, %v", pid, r, err)
		}
		if after, err := patch.Verify(pid); err != nil || !after.Clean() {
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

// checkForms sees that sites of every form that the test is about are patched.
func checkForms(t *testing.T, d *Daemon) {
	t.Helper()
	used := usedForms(d)
	t.Logf("sites %v", used)
	for _, f := range []string{"punned 1 call", "punned 1", "punned 2 call", "punned 2", "punned 3 call", "punned 4 call", "retargeted entry"} {
		if used[f] == 0 {
			t.Errorf("no site is %q: sites %v", f, used)
		}
	}
	if used["evicted"] < 3 || used["punned 4 call"] < 2 {
		t.Errorf("sites %v: the test is about others", used)
	}
}

// usedForms counts the patched sites by tactic; of punned ones it tells how many bytes they have and whether a call follows.
func usedForms(d *Daemon) map[string]int {
	d.lockAll()
	defer d.unlockAll()
	used := map[string]int{}
	for _, s := range d.targets[0].Text.Sites() {
		if !s.Patched() {
			continue
		}
		form := string(s.Tactic)
		switch {
		case s.Tactic == planner.Punned && s.Host.Call() != 0:
			form = fmt.Sprintf("punned %d call", s.Len)
		case s.Tactic == planner.Punned:
			form = fmt.Sprintf("punned %d", s.Len)
		case s.Tactic == planner.Retarget && s.Marks[0].Point.Kind == planner.FuncEntry:
			form = "retargeted entry"
		}
		used[form]++
	}
	return used
}

// TestPunnedWithoutRoom fills the islands where punned sites could lead to: those functions are refused, each by its name, and the
// module's other ones count.
func TestPunnedWithoutRoom(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/narrow.c"), "20000", "2")
	d := attachPassages(t, p.PID)
	d.lockAll()
	d.targets[0].Seg.FillForTest()
	d.unlockAll()
	var s sums
	module := key(t, "passages", "/Code/narrow.c")
	r := d.Enable([]grid.PairKey{module}, &s)
	if r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	alone := d.Enable([]grid.PairKey{key(t, "passages", "/Code/narrow.c/push_call")}, &s)
	var refused grid.ErrRefused
	if !errors.As(alone[0].Err, &refused) || !strings.Contains(refused.Point, "push_call") || !strings.Contains(refused.Reason, "no trampoline memory") {
		t.Errorf("push_call: %v", alone[0].Err)
	}
	used := usedForms(d)
	t.Logf("sites %v", used)
	for form := range used {
		if strings.HasPrefix(form, "punned") {
			t.Errorf("a site is %s", form)
		}
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable([]grid.PairKey{module})
	if s.of(module) == 0 {
		t.Error("nothing was counted")
	}
	p.Stop(t)
}
