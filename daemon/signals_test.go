package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestSignals puts probes at every function of a program under storms of signals, handlers among them, and takes them out: each
// signal comes once, and no call is interrupted that would not have been.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, b := range []build{builds[0], builds[2]} {
		t.Run(b.name, func(t *testing.T) {
			bin := testprog.Build(t, "daemon/testdata/signals.c", b.flags...)
			want := undisturbed(t, bin)
			p := testprog.StartTarget(t, bin)
			d := attachTo(t, p.PID)
			times := 0
			for until := time.Now().Add(time.Duration(rounds(500, 30000)) * time.Millisecond); time.Now().Before(until); {
				_, n := toggleAll(t, d, p)
				times += n
			}
			detachClean(t, d, p.PID)
			if got := p.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
			pauses := d.Overhead().Pauses
			c := p.Counts()
			t.Logf("%d times in and out; %d stops, the longest %d us; %v", times, pauses.Count, pauses.MaxUS, c)
			if c["stormed"] < 200 || c["restarted"] < 50 || c["interrupted"] < 50 || c["passed"] < 20 {
				t.Errorf("too few signals to tell: %v", c)
			}
		})
	}
}

// statesOf are the states of all threads, one letter each.
func statesOf(t *testing.T, pid int) (states string) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name()))
		if _, rest, ok := strings.Cut(string(text), ") "); ok {
			states += rest[:1]
		}
	}
	return states
}

// eventually waits until all threads are in a state, or none is.
func eventually(t *testing.T, pid int, state string, all bool) {
	t.Helper()
	for range 400 {
		s := statesOf(t, pid)
		if all && strings.Trim(s, state) == "" || !all && !strings.Contains(s, state) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("threads are in states %q", statesOf(t, pid))
}

// TestStoppedJob measures a stopped job: it stays stopped whatever is done to it, runs when it is told to, and stays stopped when
// the tool leaves.
func TestStoppedJob(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	p := testprog.StartTarget(t, bin)
	times, waited := rounds(4, 200), 0
	for i := range times {
		p.Signal(t, syscall.SIGSTOP)
		eventually(t, p.PID, "T", true)
		d := attachTo(t, p.PID)
		var s sums
		keys := enableAll(t, d, &s, functionsOf(d, "exec_time_inclusive", inMain(d)))
		eventually(t, p.PID, "T", true)
		if i%2 == 0 {
			p.Signal(t, syscall.SIGCONT)
			p.MustBeat(t, 5*time.Second)
			d.Disable(keys[len(keys)/2:])
			go p.Signal(t, syscall.SIGSTOP) // in the middle of what comes
			d.Settle()
			eventually(t, p.PID, "T", true)
			// A stopped thread inside a trampoline never leaves it: the memory goes when nobody is in it any more.
			p.Signal(t, syscall.SIGCONT)
			d.Disable(keys)
			d.Settle()
			p.MustBeat(t, 5*time.Second)
			p.Signal(t, syscall.SIGSTOP)
			eventually(t, p.PID, "T", true)
		}
		d.Disable(keys)
		waited += leaveStopped(t, d, p)
		eventually(t, p.PID, "T", true)
		p.Signal(t, syscall.SIGCONT)
		eventually(t, p.PID, "T", false)
		p.MustBeat(t, 5*time.Second)
	}
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	t.Logf("%d times attached to a stopped job; %d times it had to go on before it could be left", times, waited)
}

// leaveStopped detaches from a stopped job. Where it was stopped inside a trampoline, on a busy machine, that is said and nothing
// is harmed, and it succeeds once the job has gone on.
func leaveStopped(t *testing.T, d *Daemon, p *testprog.Prog) (waited int) {
	t.Helper()
	if _, err := d.Detach(); errors.Is(err, patch.ErrInside) {
		eventually(t, p.PID, "T", true)
		waited++
		p.Signal(t, syscall.SIGCONT)
		p.MustBeat(t, 5*time.Second)
		d.Detach()
		p.Signal(t, syscall.SIGSTOP)
	}
	detachClean(t, d, p.PID)
	return waited
}

// TestUninterruptible: with a thread that cannot be stopped everything is given up within the deadline and runs on; afterwards the
// same succeeds. What is counted all the while is exact.
func TestUninterruptible(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/uninterruptible.c"))
	d := attachTo(t, p.PID)
	var s sums
	counter, timer := nameOf(t, d, "procedure_calls", "work"), nameOf(t, d, "exec_time_inclusive", "work")
	d.mustEnable(t, &s, counter)
	p.Say(t, "go")
	worst := time.Duration(0)
	for range rounds(1, 30) {
		p.Say(t, "wait 1500")
		tid := strings.Fields(p.Expect(t, "WAITING ", 5*time.Second))[1]
		awaitState(t, p.PID, tid, 'D')
		beats, began := p.Beats(), time.Now()
		r := d.Enable([]grid.PairKey{timer}, &s)
		took := time.Since(began)
		worst = max(worst, took)
		if !errors.As(r[0].Err, new(grid.ErrDeferred)) || !strings.Contains(r[0].Err.Error(), tid) {
			t.Errorf("with thread %s in D: %v", tid, r[0].Err)
		}
		if took > stops.Deadline+300*time.Millisecond {
			t.Errorf("given up after %v", took)
		}
		p.MustBeat(t, time.Second)
		if p.Beats() == beats {
			t.Error("nothing runs")
		}
		p.Expect(t, "OVER", 5*time.Second)
		d.mustEnable(t, &s, timer)
		d.Disable([]grid.PairKey{timer})
	}
	p.Say(t, "stop")
	p.Expect(t, "DONE", 5*time.Second)
	d.Disable([]grid.PairKey{counter})
	if got, want := uint64(s.of(counter)), p.Counts()["work"]; got != want || got == 0 {
		t.Errorf("%d calls counted, the program made %d", got, want)
	}
	pauses := d.Overhead().Pauses
	t.Logf("given up after at most %v; the longest pause %d us", worst, pauses.MaxUS)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

func awaitState(t *testing.T, pid int, tid string, state byte) {
	t.Helper()
	for range 400 {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + tid + "/stat")
		if _, rest, ok := strings.Cut(string(text), ") "); ok && rest[0] == state {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("thread %s never comes into state %c", tid, state)
}
