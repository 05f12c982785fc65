package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// copyFile copies a program.
func copyFile(t *testing.T, from, to string, mode os.FileMode) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, mode)
	}
	if err == nil {
		err = os.Chmod(to, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// isMeasured checks that what is measured is selfcheck, and that nothing of cpu, which lies at its path, is taken for it.
func isMeasured(t *testing.T, p *testprog.Prog) {
	t.Helper()
	d := attachTo(t, p.PID)
	var s sums
	all := functionsOf(d, "procedure_calls", inMain(d))
	for _, k := range all {
		if strings.Contains(k.String(), "cpu.c") {
			t.Fatalf("%s: a function of another program", k)
		}
	}
	calls := nameOf(t, d, "procedure_calls", "through_c")
	on := enableAll(t, d, &s, all)
	time.Sleep(250 * time.Millisecond)
	d.Disable(on)
	if s.of(calls) == 0 {
		t.Error("nothing was counted")
	}
	t.Logf("%d functions; %v calls of one", len(on), s.of(calls))
	detachClean(t, d, p.PID)
}

// TestDecoyInAnotherNamespace measures a program in mount and pid namespaces of its own: at its path lies another program here.
func TestDecoyInAnotherNamespace(t *testing.T) {
	t.Parallel()
	require.Root(t)
	require.Tool(t, "mount")
	dir := t.TempDir()
	real := copyFile(t, testprog.Build(t, "testdata/targets/selfcheck.c"), filepath.Join(dir, "real"), 0o755)
	path := copyFile(t, testprog.Build(t, "testdata/targets/cpu.c"), filepath.Join(dir, "program"), 0o755)
	want := undisturbed(t, real)
	cmd := exec.Command("/bin/sh", "-c", `mount --make-rprivate / && mount --bind "$1" "$2" && exec "$2"`, "sh", real, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	probe := exec.Command("/bin/true")
	probe.SysProcAttr = cmd.SysProcAttr
	if err := probe.Run(); err != nil {
		require.Skipf(t, "no namespaces may be made here: %v", err)
	}
	p := testprog.StartCmd(t, cmd)
	if line := p.Expect(t, "READY", 10*time.Second); line != "READY 1" {
		t.Fatalf("%q: it is not alone in a namespace", line)
	}
	isMeasured(t, p)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// TestReplacedWhileMeasured: another program takes the place of the file of one that is measured already.
func TestReplacedWhileMeasured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := copyFile(t, testprog.Build(t, "testdata/targets/selfcheck.c"), filepath.Join(dir, "program"), 0o755)
	decoy := copyFile(t, testprog.Build(t, "testdata/targets/cpu.c"), filepath.Join(dir, "other"), 0o755)
	want := undisturbed(t, path)
	p := testprog.StartTarget(t, path)
	d := attachTo(t, p.PID)
	if err := os.Rename(decoy, path); err != nil {
		t.Fatal(err)
	}
	var s sums
	calls := nameOf(t, d, "procedure_calls", "through_c")
	d.mustEnable(t, &s, calls)
	d.discover()
	time.Sleep(250 * time.Millisecond)
	d.Disable([]grid.PairKey{calls})
	if s.of(calls) == 0 {
		t.Error("nothing was counted")
	}
	detachClean(t, d, p.PID)
	isMeasured(t, p)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}
