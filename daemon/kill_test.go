package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

func init() { helpers["victim"] = victim }

// victim is a culprit that attaches, turns pairs of all kinds on and off, and detaches, again and again, until it is killed.
func victim(args []string) int {
	pid, err := strconv.Atoi(args[0])
	if err == nil {
		err = restless(pid, args[1:])
	}
	fmt.Fprintln(os.Stderr, "victim:", err)
	return 3
}

// restless says "attach" before it attaches, "on" when pairs are on, "detach" before it detaches. With "once" it ends well
// after the first time, in which it turns pairs on once only unless the long forms run.
func restless(pid int, args []string) error {
	times := 3
	if len(args) > 0 && args[0] == "once" && os.Getenv("CULPRIT_LONG") != "1" {
		times = 1
	}
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		return err
	}
	for {
		fmt.Println("attach")
		d, err := Attach(context.Background(), Options{Library: lib, Guard: testGuard}, pid)
		if err != nil {
			return err
		}
		for range times {
			if err := everyKind(d); err != nil {
				d.Detach()
				return err
			}
			fmt.Println("on")
		}
		if len(args) > 0 && args[0] == "hold" {
			everyKind(d)
			time.Sleep(time.Hour)
		}
		fmt.Println("detach")
		if clean, err := d.Detach(); !clean {
			return fmt.Errorf("detach: %w", err)
		}
		if len(args) > 0 && args[0] == "once" {
			fmt.Println("done")
			os.Exit(0)
		}
	}
}

// everyKind enables pairs of every kind of code that there is, and disables them.
func everyKind(d *Daemon) error {
	var keys []grid.PairKey
	main := inMain(d)
	few := func(f *program.Function) bool { return main(f) && (f.ID>>4)%3 == 0 }
	for _, m := range []string{"procedure_calls", "exec_time_inclusive"} {
		keys = append(keys, functionsOf(d, m, main)...)
	}
	for _, m := range []string{"exec_time", "cpu_inclusive", "cpu", "sync_wait_inclusive"} {
		keys = append(keys, functionsOf(d, m, few)...)
	}
	keys = keys[:min(len(keys), 250)]
	keys = append(keys, grid.PairKey{Metric: "sync_wait_inclusive", Focus: grid.Whole()}, grid.PairKey{Metric: "io_wait", Focus: grid.Whole()})
	on := 0
	for _, r := range d.Enable(keys, &sums{}) {
		if r.Err == nil {
			on++
		} else if errors.As(r.Err, new(grid.ErrTargetExited)) {
			return r.Err
		}
	}
	if on < 5 {
		return fmt.Errorf("only %d of %d pairs could be enabled", on, len(keys))
	}
	d.Disable(keys[:len(keys)/2])
	d.Settle()
	d.Disable(keys)
	return nil
}

// endsByKill waits for a helper that must die of SIGKILL.
func endsByKill(t *testing.T, cmd *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	err := cmd.Wait()
	var ee *exec.ExitError
	if !errors.As(err, &ee) || ee.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the culprit that was to be killed ended otherwise: %v\n%s", err, said)
	}
}

// A moment is where in a culprit's life it is killed: so long after it says a word.
type moment struct {
	word   string
	within time.Duration
}

var moments = []moment{{"attach", 250 * time.Millisecond}, {"on", 60 * time.Millisecond}, {"detach", 25 * time.Millisecond}}

// killAtRandom starts a culprit on the process and kills it at a random instant of the moment.
func killAtRandom(t *testing.T, pid int, at moment) {
	t.Helper()
	cmd := self("victim", strconv.Itoa(pid))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != at.word {
	}
	if lines.Text() != at.word {
		cmd.Wait()
		t.Fatalf("the culprit did not come to say %q:\n%s", at.word, &said)
	}
	time.Sleep(rand.N(at.within))
	cmd.Process.Kill()
	endsByKill(t, cmd, &said)
}

// restoreClean restores what a killed culprit has left and checks that nothing is.
func restoreClean(t *testing.T, p *testprog.Prog) patch.RestoreReport {
	t.Helper()
	r, err := target.Restore(p.PID)
	if err != nil {
		t.Fatalf("restore: %v (%+v)", err, r)
	}
	v, err := patch.Verify(p.PID)
	if err != nil || !v.Clean() {
		t.Fatalf("after restore (%+v): %+v, %v", r, v, err)
	}
	noRowsLeft(t, p.PID)
	return r
}

// noRowsLeft looks for what the way of the kernel's rows into a target may have left there: none of the tests' programs has maps of BPF
// or sockets of its own.
func noRowsLeft(t testing.TB, pid int) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return // it has ended
	}
	if strings.Contains(string(maps), "bpf-map") {
		t.Errorf("process %d still maps the kernel's rows", pid)
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if link, _ := os.Readlink(fd); strings.HasPrefix(link, "socket:") || strings.Contains(link, "bpf-map") {
			t.Errorf("process %d still has %s", pid, link)
		}
	}
}

// TestKilledAtRandom kills culprits at random instants of attaching, measuring and detaching. The target lives on every time,
// is restored every time, and ends as if nobody had been there.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel() // those that trace are processes of their own
	targets := []struct {
		source string
		flags  []string
	}{{"selfcheck.c", nil}, {"switch.c", []string{"-no-pie", "-fno-pie"}}, {"mutex.c", nil}, {"ipara.c", []string{"-static"}}, {"narrow.c", nil}}
	kills, left := 0, map[string]int{}
	for _, tg := range targets {
		bin := testprog.Build(t, "testdata/targets/"+tg.source, tg.flags...)
		want := undisturbed(t, bin)
		p := testprog.StartTarget(t, bin)
		for i := range rounds(len(moments), 60) {
			at := moments[i%len(moments)]
			killAtRandom(t, p.PID, at)
			kills++
			p.MustBeat(t, 10*time.Second)
			if r := restoreClean(t, p); r.Restored > 0 {
				left[at.word]++
			}
		}
		p.MustBeat(t, 10*time.Second)
		if got := p.Stop(t); got != want {
			t.Errorf("%s: hash %s, undisturbed %s", tg.source, got, want)
		}
	}
	t.Logf("killed %d times; bytes were to be restored: %v", kills, left)
}
