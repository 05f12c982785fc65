package doctor

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %v", name, checks)
	return Check{}
}

func TestEveryFailureHasARemedy(t *testing.T) {
	checks := append(System(), Target(os.Getpid())...)
	checks = append(checks, Target(2)...)
	checks = append(checks, Target(4194999)...)
	for _, c := range checks {
		if c.Level != OK && c.Remedy == "" {
			t.Errorf("%s: %s: no remedy", c.Name, c.Value)
		}
		if c.Value == "" {
			t.Errorf("%s: no value", c.Name)
		}
	}
}

func TestChildIsFine(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep(1): ", err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	checks := Target(cmd.Process.Pid)
	if Failed(checks) {
		t.Errorf("a child cannot be attached to: %v", checks)
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	for range 100 {
		if find(t, Target(cmd.Process.Pid), "state").Level == Note {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a stopped child is not noted")
}

func TestZombieAndNobody(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Skip("no true(1): ", err)
	}
	defer cmd.Wait()
	for range 200 {
		if checks := Target(cmd.Process.Pid); Failed(checks) {
			if !strings.Contains(find(t, checks, "state").Value, "ended") {
				t.Error(checks)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !Failed(Target(4194999)) {
		t.Error("no process, no failure")
	}
}

func TestTracedTarget(t *testing.T) {
	self, _ := readStatus("self")
	self["TracerPid"] = "1"
	if c := tracer(self); c.Level != Fail || !strings.Contains(c.Value, "pid 1 ") {
		t.Error(c)
	}
}

func TestHostileNameIsCleaned(t *testing.T) {
	src, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no sleep(1) on this machine")
	}
	b, _ := os.ReadFile(src)
	path := filepath.Join(t.TempDir(), "a\x1b[31mb")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var out bytes.Buffer
	if err := Write(&out, Target(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(out.String(), 0x1b) {
		t.Errorf("an escape came through: %q", out.String())
	}
}

// TestForbidden: what a thread forbids is a note, and so is that nobody can see it.
func TestForbidden(t *testing.T) {
	if c := Forbidden("", ""); c.Level != OK {
		t.Error(c)
	}
	for _, c := range []Check{Forbidden("PR_SET_TSC", ""), Forbidden("", "no rights")} {
		if c.Level != Note || c.Remedy == "" || !strings.Contains(c.Value, "PR_SET_TSC") && !strings.Contains(c.Value, "not known: no rights") {
			t.Errorf("%+v", c)
		}
	}
}
