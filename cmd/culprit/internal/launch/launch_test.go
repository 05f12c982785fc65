package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const patience = 20 * time.Second

func done(t *testing.T, p *Program) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		p.End(time.Second)
		t.Fatal("the program does not end")
	}
}

// TestExitCode: the code is what a shell tells, also of a program that a signal ends.
func TestExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 37": 37, "kill -9 $$": 137} {
		p, err := Start([]string{"sh", "-c", script}, Through)
		if err != nil {
			t.Fatal(err)
		}
		done(t, p)
		if code, ended := p.ExitCode(true); !ended || code == nil || *code != want {
			t.Errorf("%q: %v %v", script, code, ended)
		}
		p.Finish()
	}
}

// TestEnd: SIGTERM is enough for most, and SIGKILL ends the others. A program that goes on has no exit code.
func TestEnd(t *testing.T) {
	for script, want := range map[string]int{"sleep 60 & wait": 143, "trap '' TERM; echo; while :; do sleep 0.1; done": 137} {
		cmd := exec.Command("sh", "-c", script)
		p, err := StartCommand(cmd, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		p.AwaitImage()
		time.Sleep(300 * time.Millisecond) // the shell sets its trap
		if code, ended := p.ExitCode(false); ended {
			t.Errorf("%q has ended: %v", script, code)
		}
		p.End(500 * time.Millisecond)
		done(t, p)
		if code, _ := p.ExitCode(false); code == nil || *code != want {
			t.Errorf("%q: %v", script, code)
		}
	}
}

// TestEndedComesBeforeTheNumberIsFree: until Ended has returned the program is a zombie, and nobody else has its number.
func TestEndedComesBeforeTheNumberIsFree(t *testing.T) {
	state := ""
	p, err := StartCommand(exec.Command("true"), Hooks{Ended: func(pid int) {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			state = err.Error()
		} else {
			state = strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[0]
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	done(t, p)
	if state != "Z" {
		t.Errorf("its state is %q", state)
	}
}

// TestUntilFinish: output that is held back is in a file, which is gone when it is printed.
func TestUntilFinish(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p, err := Start([]string{"sh", "-c", "echo held back"}, UntilFinish)
	if err != nil {
		t.Fatal(err)
	}
	done(t, p)
	if b, err := os.ReadFile(p.spool.Name()); string(b) != "held back\n" {
		t.Errorf("%q %v", b, err)
	}
	p.Finish()
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWhatCannotBeStarted: the message says why, and no file is left.
func TestWhatCannotBeStarted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/nowhere/x": "there is no program /nowhere/x", "no-such-program-here": "there is no program", plain: "may not be executed"} {
		if _, err := Start([]string{name}, UntilFinish); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
