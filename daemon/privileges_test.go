package daemon

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

const nobody = 65534

// asNobody has a command run as a user without rights.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	return cmd
}

// publicDir is a directory that everybody may read.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "culprit-public")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// nobodysCulprit attaches to a process, measures it and detaches, as nobody; it says what it said about its end.
func nobodysCulprit(t *testing.T, self string, pid int) (said string, status int) {
	t.Helper()
	cmd := asNobody(exec.Command(self, strconv.Itoa(pid), "once"))
	cmd.Env = append(os.Environ(), helperVariable+"=victim")
	var out bytes.Buffer
	cmd.Stderr = &out
	timer := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	_, status = endOf(cmd.Run())
	return out.String(), status
}

// TestPrivileges: a user measures what the kernel lets them trace and nothing else: neither a program of root's nor one that has
// become root by its file's mode. Root measures the latter as well.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	require.Root(t)
	dir := publicDir(t)
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	self := copyFile(t, "/proc/self/exe", filepath.Join(dir, "culprit.test"), 0o755)
	plain := copyFile(t, bin, filepath.Join(dir, "plain"), 0o755)
	setuid := copyFile(t, bin, filepath.Join(dir, "setuid"), 0o755)
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	start := func(cmd *exec.Cmd) *testprog.Prog {
		p := testprog.StartCmd(t, cmd)
		p.Expect(t, "READY", 10*time.Second)
		return p
	}
	roots, own, raised := start(exec.Command(plain)), start(asNobody(exec.Command(plain))), start(asNobody(exec.Command(setuid)))
	if s, err := os.ReadFile("/proc/" + strconv.Itoa(raised.PID) + "/status"); err != nil || !strings.Contains(string(s), "Uid:\t65534\t0\t0\t0\n") {
		require.Skipf(t, "files in %s do not set the user: %v", dir, err)
	}
	for who, p := range map[string]*testprog.Prog{"root's": roots, "raised": raised} {
		said, status := nobodysCulprit(t, self, p.PID)
		if status != 3 || !strings.Contains(said, "not permitted") {
			t.Errorf("%s: status %d, %s", who, status, said)
		}
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	said, status := nobodysCulprit(t, self, own.PID)
	switch mode := strings.TrimSpace(string(scope)); {
	case (mode == "" || mode == "0") && status != 0:
		t.Errorf("a user's own program: status %d, %s", status, said)
	case mode > "0" && !strings.Contains(said, "ptrace_scope="+mode):
		t.Errorf("with ptrace_scope %s: status %d, %s", mode, status, said)
	}
	isMeasured(t, raised)
	for _, p := range []*testprog.Prog{roots, own, raised} {
		if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
			t.Errorf("%+v, %v", v, err)
		}
		if got := p.Stop(t); got != want {
			t.Errorf("hash %s, undisturbed %s", got, want)
		}
	}
}
