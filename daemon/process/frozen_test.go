package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/require"
)

// freezer makes a group of the unified hierarchy with a process in it, and gives the file that freezes it.
func freezer(t *testing.T, pid int) (file string) {
	t.Helper()
	require.Root(t)
	for line := range strings.SplitSeq(string(must2(os.ReadFile("/proc/mounts"))), "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "cgroup2" {
			continue
		}
		dir := filepath.Join(f[1], "culprit-test-"+strconv.Itoa(pid))
		must(t, os.Mkdir(dir, 0o700))
		t.Cleanup(func() {
			_ = os.WriteFile(filepath.Join(f[1], "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600) // it has ended, unless the test has failed
			for end := time.Now().Add(5 * time.Second); unix.Rmdir(dir) != nil && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
		})
		must(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600))
		return filepath.Join(dir, "cgroup.freeze")
	}
	t.Skip("no unified hierarchy of control groups is mounted")
	return ""
}

// TestCallsInAFrozenProcess: its threads stop for us, but do not make calls. However often they are asked, what they come back by stays whole, and
// they go on as before when they are thawed.
func TestCallsInAFrozenProcess(t *testing.T) {
	t.Parallel()
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	file := freezer(t, tg.pid())
	if by := FrozenBy(tg.pid()); by != "" {
		t.Errorf("before it is frozen %q has frozen it", by)
	}
	call := func(w *World) error {
		_, err := w.Syscall(unix.SYS_GETPID)
		return err
	}
	stop(t, p, func(w *World) error { // it is frozen while it stands still for us: without us epoll_wait of a thread that is frozen ends with EINTR
		return errors.Join(call(w), os.WriteFile(file, []byte("1"), 0o600))
	})
	t.Cleanup(func() { _ = os.WriteFile(file, []byte("0"), 0o600) }) // else it could not be ended
	if by := FrozenBy(tg.pid()); !strings.Contains(by, "culprit-test-") {
		t.Errorf("it is frozen, and it is said of %q", by)
	}
	inCall := 0
	for i := range 200 {
		_, err := p.Stop(t.Context(), StopOptions{Deadline: 20 * time.Millisecond}, call)
		var d *raw.Deferred
		if !errors.As(err, &d) {
			t.Fatalf("stop %d of a frozen process: %v", i, err)
		}
		mustSayFrozen(t, err, filepath.Join(filepath.Dir(file), "cgroup.events"))
		if d.InCall { // else the machine was so busy that not all had stopped
			inCall++
		}
	}
	if inCall < 50 {
		t.Errorf("of 200 stops %d were those in which a call was not made: that shows little", inCall)
	}
	must(t, os.WriteFile(file, []byte("0"), 0o600))
	eventually(t, "calls are made again", func() bool {
		_, err := p.Stop(t.Context(), StopOptions{}, call)
		return err == nil
	})
	if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
		t.Errorf("target: %v", res)
	}
}

// TestCutsOfAFrozenProcess: what the freezing of a process has cut short is not told as cut by stops, however many there are.
func TestCutsOfAFrozenProcess(t *testing.T) {
	t.Parallel()
	tg := start(t, compile(t, bulkSource), "slow")
	p := open(t, tg.pid())
	file := freezer(t, tg.pid())
	must(t, os.WriteFile(file, []byte("1"), 0o600))
	t.Cleanup(func() { _ = os.WriteFile(file, []byte("0"), 0o600) })
	eventually(t, "it is frozen", func() bool { return FrozenBy(tg.pid()) != "" })
	told := stopOften(t, p)
	must(t, os.WriteFile(file, []byte("0"), 0o600))
	if res := tg.finish(); told != 0 || res["shorts"] == 0 {
		t.Errorf("%d calls are told as cut; target: %v", told, res)
	}
}
