package daemon

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/patch"
	"culprit/daemon/schedule"
	"culprit/grid"
	"culprit/internal/fault"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

// TestExecAtEveryPoint has the target execute a program at steps of every kind, in the long form at every step, its main thread or another one: the tool says so and
// ends, and the new program is left alone.
func TestExecAtEveryPoint(t *testing.T) {
	t.Parallel() // those that trace are processes of their own
	bin := testprog.Build(t, "testdata/targets/execer.c")
	for _, who := range []string{"leader", "thread"} {
		t.Run(who, func(t *testing.T) {
			want := undisturbed(t, bin, who)
			p := testprog.StartTarget(t, bin, who)
			execs := 0
			for _, name := range fewPoints(fault.Names(), 4) {
				for i, nth := range nths(name) {
					if strings.HasPrefix(name, "restore.") || strings.HasPrefix(name, "unload.") || i > 0 && !*long {
						continue
					}
					execAt(t, p, name, nth)
					execs++
				}
			}
			detachClean(t, attachTo(t, p.PID), p.PID)
			if got := p.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
			t.Logf("day %d: %d execs", day, execs)
		})
	}
}

// execAt has the target execute itself at a pass of a point.
func execAt(t *testing.T, p *testprog.Prog, name string, nth int) {
	t.Helper()
	spec := name + ":" + strconv.Itoa(nth) + ":exec-target"
	said, end := run(t, spec, "victim", strconv.Itoa(p.PID), "once")
	if _, status := endOf(end); status != 0 && status != 3 || strings.Contains(said, "panic") || strings.Contains(said, "goroutine") {
		t.Errorf("%s: the tool ended with %v\n%s", spec, end, said)
	}
	p.Expect(t, "READY", 10*time.Second)
	if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
		t.Errorf("%s: the new program: %+v, %v", spec, v, err)
	}
	p.MustBeat(t, 5*time.Second)
}

// TestExecAmongMany: of many targets each is asked in its turn only, and one that executes another program is retired all the same.
func TestExecAmongMany(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/execer.c")
	var all []*testprog.Prog
	var pids []int
	for range schedule.ManyTargets + 1 {
		p := testprog.StartTarget(t, bin)
		all, pids = append(all, p), append(pids, p.PID)
	}
	d := attachTo(t, pids...)
	all[0].Say(t, "exec")
	all[0].Expect(t, "READY", 10*time.Second)
	d.awaitTargets(t, schedule.ManyTargets)
	for _, i := range d.Targets() {
		if i.Ended != (i.PID == pids[0]) {
			t.Errorf("process %d: ended %v; %d executed another program", i.PID, i.Ended, pids[0])
		}
	}
	if clean, err := d.Detach(); !clean {
		t.Errorf("detach: %v", err)
	}
	for _, p := range all {
		p.Stop(t)
	}
}

// TestExecGoesOn: a start script that executes its server is measured as the server then, and the session ends with it.
func TestExecGoesOn(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/execer.c")
	p := testprog.StartTarget(t, bin)
	d := attachTree(t, nil, p.PID)
	p.Say(t, "exec")
	p.Expect(t, "READY", 10*time.Second)
	d.awaitTargets(t, 1)
	waits := grid.PairKey{Metric: "sync_wait_inclusive", Focus: grid.Whole()}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var later grid.ErrDeferred
		if _, errs := d.Price([]grid.PairKey{waits}); errs[0] != nil && !errors.As(errs[0], &later) {
			t.Fatalf("while it executes another program %s has no price for ever: %v", waits, errs[0])
		}
		list := d.Targets()
		if len(list) == 2 && list[0].Ended && !list[1].Ended && list[1].PID == p.PID {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the new program is not measured: %+v", list)
		}
	}
	select {
	case <-d.Ended():
		t.Fatal("the session has ended, and the program goes on")
	default:
	}
	p.Kill()
	select {
	case <-d.Ended():
	case <-time.After(10 * time.Second):
		t.Error("the program has ended, and the session goes on")
	}
	if clean, err := d.Detach(); !clean {
		t.Errorf("detach: %v", err)
	}
}

// TestExecIsNotCountedTwice: the CPU clock of a process goes on when it executes another program; what is measured is no more than it says.
func TestExecIsNotCountedTwice(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/execer.c")
	p := testprog.StartTarget(t, bin)
	d := attachTree(t, nil, p.PID)
	before, err := kernel.ProcessTime(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	var s sums
	d.mustEnable(t, &s, key(t, "cpu", "/"))
	for range 3 {
		time.Sleep(500 * time.Millisecond)
		p.Say(t, "exec")
		p.Expect(t, "READY", 10*time.Second)
	}
	time.Sleep(time.Second)
	d.Disable([]grid.PairKey{key(t, "cpu", "/")})
	after, err := kernel.ProcessTime(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	used, got := (after - before).Seconds(), s.of(key(t, "cpu", "/"))
	t.Logf("%.3f s used, %.3f s measured", used, got)
	if got > 1.05*used+0.02 || got < 0.3*used {
		t.Errorf("%.3f s of CPU time are measured of %.3f", got, used)
	}
}

// TestExecChain: a program that becomes another one again and again, from its main thread or from another one, while it is being joined, measured or left,
// is measured as each of them: it has not ended, whatever the kernel says of it in the middle of an exec.
func TestExecChain(t *testing.T) {
	t.Parallel()
	require.Root(t)
	for _, interval := range []string{"40", "300"} {
		t.Run(interval, func(t *testing.T) {
			p := testprog.Start(t, testprog.Build(t, "daemon/testdata/execchain.c"), interval)
			time.Sleep(100 * time.Millisecond)
			var d *Daemon
			for range 20 {
				if d = attachTreeIfPossible(t, p.PID); d != nil {
					break
				}
			}
			if d == nil {
				t.Fatal("it cannot be attached to")
			}
			var s sums
			for end := time.Now().Add(time.Duration(rounds(3, 8)) * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				for _, r := range d.Enable([]grid.PairKey{key(t, "cpu", "/")}, &s) {
					if errors.As(r.Err, new(grid.ErrTargetExited)) {
						t.Fatalf("the process lives, and is said to have ended: %v", r.Err)
					}
				}
				select {
				case <-d.Ended():
					t.Fatalf("the session has ended, and the process goes on: %+v", d.Targets())
				default:
				}
			}
			joined := len(d.Targets())
			if clean, err := d.Detach(); !clean {
				t.Errorf("detach: %v", err)
			}
			select {
			case <-d.Ended():
				t.Error("the session has ended before it was over")
			default:
			}
			t.Logf("measured as %d programs", joined)
			if joined < 2 && interval == "300" { // of those that live for 40 ms hardly any is loaded for long enough
				t.Errorf("it was measured as %d program", joined)
			}
		})
	}
}

// attachTreeIfPossible is attachTree for a program that may be another one before it is attached to.
func attachTreeIfPossible(t *testing.T, pid int) *Daemon {
	t.Helper()
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	d, err := Attach(t.Context(), Options{Library: lib, Children: true, Log: func(s string) { t.Log(s) }}, pid)
	if err != nil {
		t.Log(err)
		return nil
	}
	t.Cleanup(func() { d.Detach() })
	return d
}
