package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/daemon/contexts"
	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/testprog"
)

// inSource are pairs at the functions of a program's own source.
func inSource(d *Daemon, metric, source string) []grid.PairKey {
	return functionsOf(d, metric, func(f *program.Function) bool { return f.Fn.Module == source })
}

// patchedWide counts the patched places that take more than one instruction.
func (d *Daemon) patchedWide() (wideOnes, all int) {
	d.lockAll()
	defer d.unlockAll()
	for _, t := range d.targets {
		for _, s := range t.Text.Sites() {
			if !s.Patched() {
				continue
			}
			all++
			if contexts.Wide(s.Site) {
				wideOnes++
			}
		}
	}
	return wideOnes, all
}

// TestHandlersThatCannotBeTold: where it is not known what a program's signal handlers do, it is taken for one that schedules its own contexts.
func TestHandlersThatCannotBeTold(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/preempt.c"), "never")
	d := attachTo(t, p.PID)
	_, end := debugged(t, p.PID)
	d.targets[0].Contexts.LookFirst()
	end()
	if why := d.targets[0].Contexts.Why(); !strings.Contains(why, "cannot be told") {
		t.Errorf("why single instructions only: %q", why)
	}
	var s sums
	d.Enable(inSource(d, "procedure_calls", "preempt.c"), &s)
	if w, all := d.patchedWide(); w != 0 || all == 0 {
		t.Errorf("%d of %d places take more than one instruction", w, all)
	}
	if clean, err := d.Detach(); !clean {
		t.Error(err)
	}
	p.Stop(t)
}

// TestScheduledContexts: a program whose handler exchanges contexts gets narrow jumps only, and keeps the trampolines.
func TestScheduledContexts(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/odd/preempt.c")
	for _, how := range []string{"library", "hand"} {
		t.Run(how, func(t *testing.T) {
			p := testprog.StartTarget(t, bin, how)
			for range 2 { // the second finds what the first has left to stay
				d := attachTo(t, p.PID)
				var s sums
				d.Enable(inSource(d, "exec_time_inclusive", "preempt.c"), &s)
				d.Enable(functionsOf(d, "procedure_calls", func(f *program.Function) bool { return libc.IsC(f.Obj.Name) && strings.HasPrefix(f.Fn.Name, "str") }), &s)
				if d.targets[0].Contexts.Why() == "" {
					t.Fatal("nothing told that the program schedules its own contexts")
				}
				if w, all := d.patchedWide(); w != 0 || all == 0 {
					t.Errorf("%d of %d places take more than one instruction", w, all)
				}
				time.Sleep(200 * time.Millisecond)
				if clean, err := d.Detach(); !clean {
					t.Fatal(err)
				}
				if v, err := patch.Verify(p.PID); err != nil || !v.Clean() || v.Staying == 0 {
					t.Errorf("after detach: %+v, %v", v, err)
				}
				if _, _, found, err := segment.Owner(p.PID); found || err != nil {
					t.Errorf("what stays is taken for somebody's probes: %v", err)
				}
				if r, err := target.Restore(p.PID); err != nil || r.Staying == 0 || r.Unmapped {
					t.Errorf("restore of what stays: %+v, %v", r, err)
				}
			}
			p.Stop(t)
		})
	}
}

// TestNoContexts: neither a handler on a stack of its own nor a function that could leave for another context makes a program one that
// schedules contexts.
func TestNoContexts(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/altstack.c"))
	d := attachTo(t, p.PID)
	var s sums
	keys := inSource(d, "procedure_calls", "altstack.c")
	for range 20 {
		d.Enable(keys, &s)
		d.Disable(keys)
		d.Settle()
	}
	tt := d.targets[0]
	if !tt.Contexts.MaySwitch() {
		t.Error("setcontext is not seen among the imports")
	}
	if tt.Contexts.Caught() == 0 {
		t.Error("handlers were not looked at")
	}
	if tt.Contexts.Scheduled() {
		t.Errorf("taken for a program that schedules its own contexts: %s", tt.Contexts.Why())
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestCoroutines: contexts that leave where they say so are no reason for narrow jumps.
func TestCoroutines(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/coroutines.c"))
	d := attachTo(t, p.PID)
	var s sums
	keys := inSource(d, "exec_time_inclusive", "coroutines.c")
	for range 10 {
		d.Enable(keys, &s)
		if w, all := d.patchedWide(); w == 0 {
			t.Errorf("none of %d places takes more than one instruction: %s", all, d.targets[0].Contexts.Why())
		}
		time.Sleep(50 * time.Millisecond)
		d.Disable(keys)
		d.Settle()
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestWindowsAreLeft: where it is found late that contexts are scheduled, wide places are taken out, and what can be is measured on.
func TestWindowsAreLeft(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/altstack.c"))
	d := attachTo(t, p.PID)
	var s sums
	small, spin := nameOf(t, d, "procedure_calls", "small"), nameOf(t, d, "exec_time_inclusive", "spin")
	d.mustEnable(t, &s, small, spin)
	if w, _ := d.patchedWide(); w == 0 {
		t.Fatal("no place takes more than one instruction")
	}
	d.lockAll()
	d.targets[0].Contexts.Schedules("the test says so")
	d.unlockAll()
	d.inserter.leaveWindows()
	if w, _ := d.patchedWide(); w != 0 {
		t.Errorf("%d places take more than one instruction", w)
	}
	before := s.of(spin)
	time.Sleep(time.Second)
	d.tickAll()
	d.lockAll()
	counted := d.pairs[small] != nil
	d.unlockAll()
	if counted || s.of(spin) <= before {
		t.Errorf("calls of small are still counted: %v; spin took %v s, and %v before", counted, s.of(spin), before)
	}
	if clean, err := d.Detach(); !clean {
		t.Fatal(err)
	}
	p.Stop(t)
}
