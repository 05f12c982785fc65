package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
)

// limitedGroup makes a control group that may use so many microseconds of CPU time in each tenth of a second, and removes it when the test is
// over, after what the test started later has been ended.
func limitedGroup(t *testing.T, quota int) (dir string) {
	t.Helper()
	const v1, v2 = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
	root, file, limit := v1, "cpu.cfs_quota_us", fmt.Sprint(quota)
	if _, err := os.Stat(filepath.Join(v1, file)); err != nil {
		root, file, limit = v2, "cpu.max", fmt.Sprintf("%d 100000", quota)
		handed, err := os.ReadFile(filepath.Join(v2, "cgroup.subtree_control"))
		require.That(t, err == nil && slices.Contains(strings.Fields(string(handed)), "cpu"), "no controller of CPU time can be used for a new control group")
	}
	dir = filepath.Join(root, fmt.Sprintf("culprit-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() { removeGroup(t, dir) })
	if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0); err != nil {
		require.Skip(t, err.Error())
	}
	return dir
}

// removeGroup waits until the last process of a group is gone.
func removeGroup(t *testing.T, dir string) {
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Error(err)
}

// TestLimitOfControlGroup: a program that computes all the time, and may do so for a fifth of it, waits for a CPU. The answer says for which
// limit, and what the program computes.
func TestLimitOfControlGroup(t *testing.T) {
	require.Root(t)
	group := limitedGroup(t, 20000)
	p := started(t, "hotloop.c")
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, p.PID), 0); err != nil {
		t.Fatal(err)
	}
	r := searchFor(t, []finding{{"ControlGroupLimit", []string{""}}, {"CPUbound", []string{"/Code/hotloop.c"}}}, fmt.Sprint(p.PID))
	if len(r.Bottlenecks) == 0 {
		t.Fatal("nothing was found")
	}
	first := r.Bottlenecks[0]
	for _, part := range []string{"The program waits ", " for a CPU. ", "The control group of the program is at its limit: it may use 0.2 and could use "} {
		if !strings.Contains(first.Sentence, part) {
			t.Errorf("the first finding does not say %q:\n%s", part, r.sentences())
		}
	}
	if first.Advice != adviceOf(t, "ControlGroupLimit") {
		t.Errorf("its advice is %q", first.Advice)
	}
	r.mustFind(t, "CPUbound", "hotloop.c")
}

// TestCPUsUsedByOthers: a program that waits for a CPU is told with those of others that have them.
func TestCPUsUsedByOthers(t *testing.T) {
	require.Root(t)
	var others []string
	for range 2 * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		others = append(others, fmt.Sprintf("sh(%d)", cmd.Process.Pid))
	}
	p := started(t, "hotloop.c")
	r := searchFor(t, []finding{{"SchedulingDelay", []string{""}}}, fmt.Sprint(p.PID))
	b := r.mustFind(t, "SchedulingDelay", "waits ", " for a CPU. ", "Of the machine's CPUs other programs use just now: ")
	found := 0.0
	for _, other := range b.CPUsUsedBy {
		if other.Share < 0 || other.Share > 1 {
			t.Errorf("%+v", other)
		}
		if slices.Contains(others, other.Thread) {
			found += other.Share
		}
	}
	if found < 0.03 { // tests of other packages may compute, too
		t.Errorf("%v compute all the time, and have %.2f of the CPUs by the report: %+v", others, found, b.CPUsUsedBy)
	}
}
