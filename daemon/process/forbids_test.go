package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// forbidding starts a program whose threads forbid themselves something, and waits until it does.
func forbidding(t *testing.T, what string) (*testprog.Prog, *Process) {
	t.Helper()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/forbids.c"), what)
	time.Sleep(100 * time.Millisecond)
	return p, open(t, p.PID)
}

// TestDispatchedThreadsMakeNoCalls: where another thread can make a call that one does; where none can there is an error, and the target lives.
func TestDispatchedThreadsMakeNoCalls(t *testing.T) {
	for _, what := range []string{"dispatch", "dispatch-all"} {
		tg, p := forbidding(t, what)
		for range 40 {
			_, err := p.Stop(t.Context(), StopOptions{}, func(w *World) error {
				sure, err := w.Forbids()
				if err == nil || sure || !strings.Contains(err.Error(), "PR_SET_SYSCALL_USER_DISPATCH") {
					t.Errorf("%s: %v, sure: %v", what, err, sure)
				}
				return mapPage(w)
			})
			var u *raw.Unsupported
			if (err == nil) != (what == "dispatch") || err != nil && !errors.As(err, &u) {
				t.Fatalf("%s: a call: %v", what, err)
			}
		}
		tg.Stop(t)
	}
}

// TestThreadsAreAsked: each thread says for itself whether it may read the counter, and goes on as before.
func TestThreadsAreAsked(t *testing.T) {
	for what, refusing := range map[string]int{"nothing": 0, "tsc": 2} {
		tg, p := forbidding(t, what)
		for range 20 {
			stop(t, p, func(w *World) error {
				refused := 0
				for _, th := range w.Threads() {
					asked, err := w.MayReadTSC(th.TID)
					var u *raw.Unsupported
					switch {
					case !asked || err != nil && !errors.As(err, &u):
						t.Errorf("%s: thread %d: asked: %v, %v", what, th.TID, asked, err)
					case err != nil && th.TID == tg.PID:
						t.Errorf("%s: the first thread: %v", what, err)
					case err != nil:
						refused++
					}
				}
				if refused != refusing {
					t.Errorf("%s: %d threads say no, not %d", what, refused, refusing)
				}
				return nil
			})
		}
		tg.Stop(t)
	}
}

// TestForbiddenIsSeen: with eBPF nobody is asked.
func TestForbiddenIsSeen(t *testing.T) {
	require.Root(t)
	modes, err := syscalls.OpenModes(syscalls.NewTypes())
	if err != nil {
		require.Skip(t, err.Error())
	}
	defer modes.Close()
	for what, want := range map[string]string{"nothing": "", "tsc": "PR_SET_TSC", "dispatch": "PR_SET_SYSCALL_USER_DISPATCH"} {
		tg, p := forbidding(t, what)
		if p.SeesForbidden() || p.Forbids() != nil {
			t.Error("it sees without being told how")
		}
		p.KnowModes(modes)
		stop(t, p, func(w *World) error {
			sure, inStop := w.Forbids()
			for _, err := range []error{p.Forbids(), inStop} {
				if !sure || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, sure: %v", what, err, sure)
				}
			}
			return nil
		})
		tg.Stop(t)
	}
}

// TestFrozenByTheFirstVersion: the group of a process is frozen, and its threads do not stop. The error says which group it is.
func TestFrozenByTheFirstVersion(t *testing.T) {
	require.Root(t)
	const top = "/sys/fs/cgroup/freezer"
	if _, err := os.Stat(top); err != nil {
		t.Skip("no freezer of the first version of control groups is mounted") // a matter of the machine
	}
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	group := filepath.Join(top, "culprit-test-"+itoa(tg.pid()))
	must(t, os.Mkdir(group, 0o700))
	write := func(file, text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	t.Cleanup(func() {
		_ = os.WriteFile(filepath.Join(group, "freezer.state"), []byte("THAWED"), 0o600)
		_ = os.WriteFile(filepath.Join(top, "cgroup.procs"), []byte(itoa(tg.pid())), 0o600) // it has ended, unless the test has failed
		for end := time.Now().Add(5 * time.Second); unix.Rmdir(group) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	write(filepath.Join(group, "cgroup.procs"), itoa(tg.pid()))
	if f := raw.FrozenBy(tg.pid(), tg.pid()); f.By != "" || !f.Known {
		t.Errorf("not frozen yet: %+v", f)
	}
	write(filepath.Join(group, "freezer.state"), "FROZEN")
	eventually(t, "it is frozen", func() bool {
		b, err := os.ReadFile(filepath.Join(group, "freezer.state"))
		return err == nil && strings.HasPrefix(string(b), "FROZEN")
	})
	_, err := p.Stop(t.Context(), StopOptions{Deadline: 100 * time.Millisecond}, mapPage)
	mustSayFrozen(t, err, filepath.Join(group, "freezer.state"))
	write(filepath.Join(group, "freezer.state"), "THAWED")
	eventually(t, "calls are made again", func() bool {
		_, err := p.Stop(t.Context(), StopOptions{}, mapPage)
		return err == nil
	})
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("target: %v", res)
	}
}

// mustSayFrozen: an error names the file that says that a process is frozen, and what to do.
func mustSayFrozen(t *testing.T, err error, file string) {
	t.Helper()
	var d *raw.Deferred
	if !errors.As(err, &d) || d.Frozen.By != file || !strings.Contains(err.Error(), "thaw it, then try again") {
		t.Errorf("of a frozen process: %v", err)
	}
}
