package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// nobody makes a command one of a user without rights.
func nobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	return cmd
}

// TestDoctorsTierIsWhatAttachGives: for several users and states of a target, attach then measures in the way that the doctor said.
func TestDoctorsTierIsWhatAttachGives(t *testing.T) {
	require.Root(t)
	strace, unshare := require.Tool(t, "strace"), require.Tool(t, "unshare")
	public := publicCopy(t)
	nsenter := require.Tool(t, "nsenter")
	bin := publicCopyOf(t, testprog.Build(t, testprog.Target(t, "mutex.c")))
	for _, c := range []struct {
		name   string
		own    bool // the target is nobody's
		inside bool // of a user namespace
		traced bool
		run    func(pid int, args ...string) *exec.Cmd
		fails  bool
	}{
		{name: "root", run: func(_ int, args ...string) *exec.Cmd { return exec.Command(public, args...) }},
		{name: "root, traced", traced: true, run: func(_ int, args ...string) *exec.Cmd { return exec.Command(public, args...) }},
		{name: "nobody, own", own: true, run: func(_ int, args ...string) *exec.Cmd { return nobody(exec.Command(public, args...)) }},
		{name: "nobody, own, traced", own: true, traced: true, run: func(_ int, args ...string) *exec.Cmd { return nobody(exec.Command(public, args...)) }},
		{name: "nobody, root's", fails: true, run: func(_ int, args ...string) *exec.Cmd { return nobody(exec.Command(public, args...)) }},
		{name: "from inside of a user namespace", fails: true, run: func(_ int, args ...string) *exec.Cmd {
			return exec.Command(unshare, append([]string{"-U", "-r", public}, args...)...)
		}},
		{name: "both inside of a user namespace", inside: true, run: func(pid int, args ...string) *exec.Cmd {
			return exec.Command(nsenter, append([]string{"-U", "--preserve-credentials", "-t", fmt.Sprint(pid), public}, args...)...)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.name, "user namespace") {
				if out, err := exec.Command(unshare, "-U", "-r", "true").CombinedOutput(); err != nil {
					t.Skipf("no user namespace may be made here: %s", out)
				}
			}
			cmd := exec.Command(bin)
			switch {
			case c.own:
				cmd = nobody(cmd)
			case c.inside:
				cmd = exec.Command(unshare, "-U", "-r", bin)
			}
			p := testprog.StartCmd(t, cmd)
			p.Expect(t, "READY", 10*time.Second)
			if c.traced {
				endTracer := traceWith(t, strace, p.PID)
				defer endTracer()
			}
			doctor := c.run(p.PID, "doctor", fmt.Sprint(p.PID))
			out, _ := doctor.Output()
			said := doctorsTier(t, string(out))
			attach := startCmd(t, c.run(p.PID, "attach", "--no-tui", "--no-search", "--for", "200ms", "--watch", "blocked_futex", "--json", "-", fmt.Sprint(p.PID)))
			status := attach.status()
			got := "nothing"
			switch {
			case strings.Contains(attach.out.String(), `"backend": "probe"`):
				got = "probes"
			case strings.Contains(attach.out.String(), `"backend": "sample"`):
				got = "stack samples"
			}
			t.Logf("doctor (status %d): %s; attach (status %d): %s %s", doctor.ProcessState.ExitCode(), said, status, got, attach.errOut.String())
			rows := !strings.Contains(attach.out.String(), "CAP_BPF") && !strings.Contains(attach.out.String(), "eBPF programs")
			if strings.Contains(said, "per-thread statistics") != rows && got == "probes" {
				t.Errorf("the doctor said %q; of per-thread statistics attach says: %v", said, rows)
			}
			if !strings.HasPrefix(said, got) {
				t.Errorf("the doctor said %q, attach measures by %q", said, got)
			}
			if (got == "nothing") != c.fails || (doctor.ProcessState.ExitCode() == 0) == c.fails {
				t.Errorf("doctor's status %d", doctor.ProcessState.ExitCode())
			}
		})
	}
}

// doctorsTier is what the line says.
func doctorsTier(t *testing.T, out string) string {
	t.Helper()
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == "tier" {
			return strings.Join(f[2:], " ")
		}
	}
	t.Fatalf("the doctor names no tier:\n%s", out)
	return ""
}

// traceWith has strace trace a process until the function is called.
func traceWith(t *testing.T, strace string, pid int) (end func()) {
	t.Helper()
	tracer := exec.Command(strace, "-qq", "-f", "-o", os.DevNull, "-e", "trace=none", "-p", fmt.Sprint(pid))
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { _ = tracer.Process.Signal(os.Interrupt); _ = tracer.Wait() }
	for range 500 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && !strings.Contains(string(status), "TracerPid:\t0\n") {
			return end
		}
		time.Sleep(10 * time.Millisecond)
	}
	end()
	t.Fatal("strace does not trace it")
	return nil
}
