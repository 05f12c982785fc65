package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/testprog"
)

// family starts the program with children of all kinds; the children that live on are born while probes are in.
func startFamily(t *testing.T, rounds int, flags ...string) *testprog.Prog {
	t.Helper()
	return testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/family.c", flags...), fmt.Sprint(rounds))
}

func longChild(t *testing.T, p *testprog.Prog) (pid int) {
	t.Helper()
	p.Say(t, "long")
	if _, err := fmt.Sscanf(p.Expect(t, "CHILD ", 5*time.Second), "CHILD %d", &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// inAndOut turns pairs on and off until done is closed, so that the trampolines of their functions change all the time.
func inAndOut(t *testing.T, d *Daemon, done <-chan struct{}, keys ...grid.PairKey) (times int) {
	var s sums
	for ; ; times++ {
		select {
		case <-done:
			return times
		default:
		}
		for i := range keys {
			enableAll(t, d, &s, keys[:i+1])
			d.Settle()
			d.Disable(keys[i:])
			if times%3 == 0 {
				d.Settle()
			}
			d.Disable(keys[:i+1])
		}
	}
}

// TestChildren measures a parent of many children: they do not count into it, they do not crash, and one that lives on does so
// while its parent's trampolines change and go; it can be restored, and measured by itself.
func TestChildren(t *testing.T) {
	for _, b := range []build{{"pie", nil, false}, {"static", []string{"-static"}, false}} {
		t.Run(b.name, func(t *testing.T) {
			p := startFamily(t, rounds(60, 2000), b.flags...)
			d := attachTo(t, p.PID)
			var s sums
			names := []string{"work", "helper", "work_all"}
			var counters, timers []grid.PairKey
			for _, n := range names {
				counters = append(counters, nameOf(t, d, "procedure_calls", n))
				timers = append(timers, nameOf(t, d, "exec_time_inclusive", n), nameOf(t, d, "cpu_inclusive", n), nameOf(t, d, "exec_time", n))
			}
			d.mustEnable(t, &s, counters...)
			var children []int
			for i := range 4 {
				enableAll(t, d, &s, timers[:2*i])
				children = append(children, longChild(t, p))
				d.Disable(timers)
			}
			done, ended := make(chan struct{}), make(chan int)
			go func() { ended <- inAndOut(t, d, done, timers...) }()
			p.Say(t, "go")
			p.Expect(t, "DONE", time.Minute)
			close(done)
			times := <-ended
			d.Disable(counters)
			counts := p.Counts()
			n := counts["work"]
			for i, want := range []uint64{n, n, counts["rounds"]} {
				if got := uint64(s.of(counters[i])); got != want {
					t.Errorf("%s: %d calls counted, the parent made %d", names[i], got, want)
				}
			}
			detachClean(t, d, p.PID)
			childrenAreWell(t, children)
			p.Stop(t)
			t.Logf("%d calls counted beside %d children; trampolines changed %d times", n, 4*counts["rounds"]+4, times*len(timers))
		})
	}
}

// childrenAreWell looks at children that were born with probes and whose parent is left alone again: they carry what they
// were born with, and can be rid of it.
func childrenAreWell(t *testing.T, pids []int) {
	t.Helper()
	for i, pid := range pids {
		v, err := patch.Verify(pid)
		if err != nil || v.DifferingBytes == 0 || v.Mappings == 0 {
			t.Errorf("child %d was born with probes: %+v, %v", pid, v, err)
		}
		if i%2 == 0 {
			r, err := target.Restore(pid)
			if err != nil || r.Restored == 0 || !r.Unmapped {
				t.Errorf("restoring child %d: %+v, %v", pid, r, err)
			}
		} else {
			measureChild(t, pid)
		}
		if v, err := patch.Verify(pid); err != nil || !v.Clean() {
			t.Errorf("child %d afterwards: %+v, %v", pid, v, err)
		}
	}
}

func measureChild(t *testing.T, pid int) {
	t.Helper()
	d := attachTo(t, pid)
	var s sums
	k := nameOf(t, d, "procedure_calls", "work")
	d.mustEnable(t, &s, k)
	time.Sleep(300 * time.Millisecond)
	d.Disable([]grid.PairKey{k})
	if s.of(k) == 0 {
		t.Errorf("child %d makes no calls", pid)
	}
	detachClean(t, d, pid)
}

// TestForkingPrograms instruments every function of programs that fork and vfork all the time, from several threads, and those
// of the C library that have to do with it.
func TestForkingPrograms(t *testing.T) {
	for _, source := range []string{"forker.c", "vforker.c"} {
		t.Run(source, func(t *testing.T) {
			bin := testprog.Build(t, "testdata/targets/"+source)
			want := undisturbed(t, bin)
			p := testprog.StartTarget(t, bin)
			d := attachTo(t, p.PID)
			libc := functionsOf(d, "procedure_calls", func(f *program.Function) bool {
				return libc.IsC(f.Obj.Name) && (strings.Contains(f.Fn.Name, "fork") || strings.Contains(f.Fn.Name, "spawn") || strings.Contains(f.Fn.Name, "wait"))
			})
			var s sums
			on := enableAll(t, d, &s, libc)
			_, times := toggleAll(t, d, p)
			d.Disable(on)
			detachClean(t, d, p.PID)
			if got := p.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
			t.Logf("%d functions of the C library; %d times in and out", len(on), times)
		})
	}
}

// TestVforkedChildrenCountAsTheirParent: they run on its memory while it stands still.
func TestVforkedChildrenCountAsTheirParent(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/vforker.c"))
	d := attachTo(t, p.PID)
	var s sums
	keys := []grid.PairKey{nameOf(t, d, "procedure_calls", "one_vfork"), nameOf(t, d, "procedure_calls", "child_work"), nameOf(t, d, "exec_time_inclusive", "child_work")}
	d.mustEnable(t, &s, keys...)
	time.Sleep(time.Second)
	d.Disable(keys)
	vforks, works := s.of(keys[0]), s.of(keys[1])
	if vforks < 5 || works < vforks-1 || works > vforks+1 {
		t.Errorf("%v vforks, %v calls in their children", vforks, works)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestExec: a target that becomes another program is at its end; what was found is kept, and nothing is written to the new one.
func TestExec(t *testing.T) {
	for _, how := range []string{"exec", "execthread", "execother /proc/self/exe"} {
		t.Run(strings.Fields(how)[0], func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/execer.c"))
			d := attachTo(t, p.PID)
			var s sums
			on := enableAll(t, d, &s, append(functionsOf(d, "procedure_calls", inMain(d)), functionsOf(d, "exec_time_inclusive", inMain(d))...))
			time.Sleep(300 * time.Millisecond)
			p.Say(t, how)
			p.Expect(t, "READY", 10*time.Second)
			if r := d.Enable([]grid.PairKey{nameOf(t, d, "cpu_inclusive", "main")}, &s); r[0].Err == nil { // before anybody has noticed
				t.Error("a function of a program that is no more was instrumented")
			}
			select {
			case <-d.Ended():
			case <-time.After(5 * time.Second):
				t.Fatal("the end of the target was not noticed")
			}
			if clean, err := d.Detach(); !clean {
				t.Errorf("detach: %v", err)
			}
			sum := 0.0
			for _, k := range on {
				sum += s.of(k)
			}
			if sum < 0.5 {
				t.Errorf("what was counted before the exec is lost: %v left of %d pairs", sum, len(on))
			}
			if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
				t.Errorf("the new program: %+v, %v", v, err)
			}
			d = attachTo(t, p.PID)
			d.mustEnable(t, &s, nameOf(t, d, "procedure_calls", "work"))
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}
