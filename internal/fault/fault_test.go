package fault

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var first, second = New("test.first"), New("test.second")

func TestMain(m *testing.M) {
	if os.Getenv("FAULT_TEST_HELPER") == "1" {
		if err := FromEnvironment(); err != nil {
			os.Exit(9)
		}
		first.Hit(0)
		os.Exit(5)
	}
	os.Exit(m.Run())
}

func TestErrorAtTheNthPass(t *testing.T) {
	defer Set("")
	if err := Set("test.second:3:error"); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 5; i++ {
		if err := first.Hit(0); err != nil {
			t.Errorf("another place: %v", err)
		}
		if err := second.Hit(0); errors.Is(err, Err) != (i == 3) {
			t.Errorf("pass %d: %v", i, err)
		}
	}
	Set("test.second")
	if err := second.Hit(0); !errors.Is(err, Err) {
		t.Errorf("the default: %v", err)
	}
	Set("")
	if err := second.Hit(0); err != nil {
		t.Errorf("nothing chosen: %v", err)
	}
}

func TestWrongWords(t *testing.T) {
	defer Set("")
	for _, spec := range []string{"test.third", "test.first:0", "test.first:explode", ":2"} {
		if err := Set(spec); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func TestGoroutineEndsAndPanics(t *testing.T) {
	defer Set("")
	Set("test.first:exit-thread")
	ended := make(chan bool)
	go func() {
		defer close(ended)
		first.Hit(0)
		t.Error("the goroutine goes on")
	}()
	<-ended
	Set("test.first:panic")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	first.Hit(0)
}

// TestSignals has a process kill itself, and another one be killed.
func TestSignals(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "FAULT_TEST_HELPER=1", Variable+"=test.first:kill-self")
	var ee *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &ee) || ee.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("kill-self: %v", err)
	}
	targetGets(t, "kill-target", unix.SIGKILL)
	targetGets(t, "exec-target", unix.SIGUSR2)
}

// targetGets has an action send a signal to a process that ends of it.
func targetGets(t *testing.T, action string, sig syscall.Signal) {
	t.Helper()
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Process.Kill()
	Set("test.first:" + action)
	defer Set("")
	if err := first.Hit(sleeper.Process.Pid); err != nil {
		t.Error(err)
	}
	var ee *exec.ExitError
	if err := sleeper.Wait(); !errors.As(err, &ee) || ee.Sys().(syscall.WaitStatus).Signal() != sig {
		t.Errorf("%s: %v", action, err)
	}
}

func TestNamesAreUnique(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two places of one name")
		}
	}()
	New("test.first")
}
