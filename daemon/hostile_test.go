package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/attach"
	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/fault"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

// TestSeccomp: a target that would be killed for the calls that attaching makes in it is never killed. With the right to lift
// the filter for those calls it is measured like any other. Processor time comes from the kernel's rows: no probe makes a call.
func TestSeccomp(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"kill", "thread", "trap", "errno", "trace"} {
		t.Run(mode, func(t *testing.T) { underFilter(t, mode) })
	}
}

func underFilter(t *testing.T, mode string) {
	bin := testprog.Build(t, "testdata/targets/seccomp.c")
	want := undisturbed(t, bin, mode)
	p := testprog.StartTarget(t, bin, mode)
	time.Sleep(100 * time.Millisecond) // the filter comes after READY
	d, err := Attach(context.Background(), Options{Library: library(t), Log: func(s string) { t.Log(s) }}, p.PID)
	var unsupported *process.Unsupported
	if err != nil && !errors.As(err, &unsupported) {
		t.Fatalf("neither attached nor refused with a reason: %v", err)
	}
	if err == nil {
		var s sums
		polls := functionsOf(d, "procedure_calls", func(f *program.Function) bool { return libc.IsC(f.Obj.Name) && f.Fn.Name == "poll" })
		calls, wall, cpu := polls[0], nameOf(t, d, "exec_time_inclusive", "main"), nameOf(t, d, "cpu_inclusive", "main")
		d.mustEnable(t, &s, calls, wall, cpu)
		time.Sleep(300 * time.Millisecond)
		d.Disable([]grid.PairKey{calls, wall, cpu})
		if s.of(calls) < 10 || s.of(wall) <= 0 || s.of(cpu) <= 0 {
			t.Errorf("%v calls, %v s, %v s of processor time", s.of(calls), s.of(wall), s.of(cpu))
		}
		detachClean(t, d, p.PID)
	}
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// TestRestoreAmidAttach: a culprit comes while another one is about to restore the process. What it has put in stays.
func TestRestoreAmidAttach(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	restorer, first, said := stoppedAmidRestore(t, p.PID)
	restorer.Process.Signal(unix.SIGCONT)
	restorer.Wait()
	if want := "being measured by process " + strconv.Itoa(first.Process.Pid); !strings.Contains(said.String(), want) {
		t.Errorf("restore said %q, want %q", said, want)
	}
	p.MustBeat(t, 5*time.Second)
	p.Stop(t)
}

// TestRestoreAmidAnother: a culprit comes and is killed while another one is about to restore the process, which has found nothing to restore: what is
// there now is restored, as a whole.
func TestRestoreAmidAnother(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	restorer, first, _ := stoppedAmidRestore(t, p.PID)
	if v, err := patch.Verify(p.PID); err != nil || v.DifferingBytes == 0 {
		t.Fatalf("nothing is patched: %+v, %v", v, err)
	}
	first.Process.Kill()
	first.Wait()
	restorer.Process.Signal(unix.SIGCONT)
	if err := restorer.Wait(); err != nil {
		t.Errorf("restore: %v", err)
	}
	p.MustBeat(t, 5*time.Second)
	restoreClean(t, p)
	p.Stop(t)
}

// stoppedAmidRestore is a culprit that is stopped when it knows what it will restore in a process, which is nothing, and one that has begun to measure the
// process since. What the first says of its end comes to said.
func stoppedAmidRestore(t *testing.T, pid int) (restorer, first *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	restorer, said = self("restorer", strconv.Itoa(pid)), new(bytes.Buffer)
	restorer.Env = append(restorer.Env, fault.Variable+"=restore.known:stop-self")
	restorer.Stderr = said
	if err := restorer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { restorer.Process.Kill() })
	eventually(t, restorer.Process.Pid, "T", true)
	first = self("holder", strconv.Itoa(pid))
	startHelper(t, first, "on")
	return restorer, first, said
}

func init() { helpers["holder"] = holder }

// holder is a culprit that measures a process until it is killed.
func holder(args []string) int {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		return 2
	}
	d, err := Attach(context.Background(), Options{Library: lib}, pid)
	if err != nil {
		println("holder:", err.Error())
		return 3
	}
	d.Enable(functionsOf(d, "procedure_calls", inMain(d)), new(sums))
	fmt.Println("on")
	time.Sleep(time.Hour)
	return 0
}

// TestSecondCulprit: a process has the probes of one culprit. A second one that is to use probes is told who the first is, also when that is
// frozen; one that may choose only looks, and says why. When the first is dead both are told what to do.
func TestSecondCulprit(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	first := self("victim", strconv.Itoa(p.PID), "hold")
	out := startHelper(t, first, "on")
	refused := func(b grid.Backend, want string) {
		t.Helper()
		d, err := Attach(context.Background(), Options{Library: library(t), Backend: b}, p.PID)
		if err == nil {
			d.Detach()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a second culprit: %v, want an error with %q", err, want)
		}
	}
	again := func() {
		t.Helper()
		who := "culprit with pid " + strconv.Itoa(first.Process.Pid)
		refused(grid.BackendProbe, who)
		d, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendAuto}, p.PID)
		if err != nil {
			t.Errorf("a second culprit that may only look: %v", err)
			return
		}
		if why := d.Targets()[0].Why; why != who+" measures it" {
			t.Errorf("a second culprit only looks because of %q", why)
		}
		if clean, err := d.Detach(); !clean {
			t.Error(err)
		}
	}
	again()
	if _, err := target.Restore(p.PID); err == nil || !strings.Contains(err.Error(), "being measured") {
		t.Errorf("restore while the culprit lives: %v", err)
	}
	unix.Kill(first.Process.Pid, unix.SIGSTOP)
	p.MustBeat(t, 5*time.Second)
	again()
	first.Process.Kill()
	for out.Scan() {
	}
	first.Wait()
	for _, b := range []grid.Backend{grid.BackendProbe, grid.BackendAuto} {
		refused(b, "culprit restore "+strconv.Itoa(p.PID))
	}
	restoreClean(t, p)
	detachClean(t, attachTo(t, p.PID), p.PID)
	p.Stop(t)
}

// startHelper starts a helper and waits until it says a word.
func startHelper(t *testing.T, cmd *exec.Cmd, word string) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == word {
			return lines
		}
	}
	end := cmd.Wait() // its standard error is complete
	t.Fatalf("the helper never said %q: %v\n%v", word, end, cmd.Stderr)
	return nil
}

// TestAttachingAtTheSameTime: of several culprits that attach at once, one has probes; the others are told that, or only look if they may.
func TestAttachingAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	lib := library(t)
	for round := range rounds(4, 30) {
		b := []grid.Backend{grid.BackendProbe, grid.BackendAuto}[round%2]
		type attempt struct {
			d   *Daemon
			err error
		}
		attempts := make(chan attempt, 4)
		for range cap(attempts) {
			go func() {
				d, err := Attach(context.Background(), Options{Library: lib, Backend: b}, p.PID)
				attempts <- attempt{d, err}
			}()
		}
		probing := 0
		var ds []*Daemon
		for range cap(attempts) {
			a := <-attempts
			var taken *attach.Taken
			switch {
			case a.err != nil && (b == grid.BackendAuto || !errors.As(a.err, &taken) || !taken.Alive()):
				t.Errorf("%v: %v", b, a.err)
			case a.err == nil && a.d.targets[0].Sampled() == nil:
				probing++
				ds = append(ds, a.d)
			case a.err == nil:
				if why := a.d.Targets()[0].Why; why != fmt.Sprintf("culprit with pid %d measures it", os.Getpid()) {
					t.Errorf("one only looks because of %q", why)
				}
				a.d.Detach()
			}
		}
		for _, d := range ds {
			detachClean(t, d, p.PID)
		}
		if probing != 1 {
			t.Errorf("%v: %d culprits have probes at once", b, probing)
		}
	}
	p.Stop(t)
}

// TestVandal: whatever a target does to the memory that it shares with us, the daemon lives and lets go of it.
func TestVandal(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "daemon/testdata/vandal.c")
	for _, how := range []string{"scribble", "ledger", "unmap"} {
		t.Run(how, func(t *testing.T) {
			p := testprog.StartTarget(t, bin)
			d := attachTo(t, p.PID)
			var s sums
			keys := []grid.PairKey{nameOf(t, d, "procedure_calls", "work"), nameOf(t, d, "exec_time_inclusive", "work"), nameOf(t, d, "cpu_inclusive", "main"), nameOf(t, d, "exec_time_inclusive", "main")}
			d.mustEnable(t, &s, keys...)
			time.Sleep(250 * time.Millisecond)
			p.Say(t, how)
			if p.Expect(t, "DONE ", 5*time.Second) == "DONE 0" {
				t.Fatal("nothing to vandalise was found")
			}
			time.Sleep(500 * time.Millisecond)
			d.Disable(keys[2:])
			d.Settle()
			p.MustBeat(t, 5*time.Second)
			if how == "ledger" {
				restoreFromFiles(t, d, p)
			} else {
				detachClean(t, d, p.PID)
			}
			p.Stop(t)
		})
	}
}

// restoreFromFiles forgets the target as a killed daemon would, and restores it although its ledger is noise.
func restoreFromFiles(t *testing.T, d *Daemon, p *testprog.Prog) {
	t.Helper()
	d.stopOnce.Do(func() { close(d.stopped) })
	d.loops.Wait()
	for _, tg := range d.targets {
		tg.Detached = true
		tg.Close()
	}
	if r, err := target.Restore(p.PID); err != nil || r.Restored == 0 {
		t.Fatalf("restore without a ledger: %+v, %v", r, err)
	}
	if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
		t.Fatalf("%+v, %v", v, err)
	}
}

// TestTracedByAnother: a process under a debugger is refused, and the error says whose it is.
func TestTracedByAnother(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	gdb, end := debugged(t, p.PID)
	defer end()
	_, err := Attach(context.Background(), Options{Library: library(t)}, p.PID)
	var traced *process.Traced
	if !errors.As(err, &traced) || traced.Tracer != gdb {
		t.Errorf("a process under a debugger: %v", err)
	}
}

// debugged has gdb attach to a process, until end.
func debugged(t *testing.T, pid int) (gdb int, end func()) {
	t.Helper()
	cmd := exec.Command(require.Tool(t, "gdb"), "-nx", "-q", "-p", strconv.Itoa(pid))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	tracer := fmt.Sprintf("TracerPid:\t%d\n", cmd.Process.Pid)
	for range 500 {
		if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); strings.Contains(string(status), tracer) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return cmd.Process.Pid, func() { in.Close(); cmd.Wait() }
}
