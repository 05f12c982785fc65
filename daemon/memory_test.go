package daemon

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/testprog"
)

// TestOutOfMemory takes away a culprit's memory at random instants of what it does: it ends by the runtime's hand, or with an
// error. The target lives on, and is restored.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	p := testprog.StartTarget(t, bin)
	ends, left := map[string]int{}, 0
	for i := range rounds(3, 120) {
		at := moments[i%len(moments)]
		ends[starve(t, p, at)]++
		p.MustBeat(t, 10*time.Second)
		if r := restoreClean(t, p); r.Restored > 0 {
			left++
		}
	}
	if ends["out of memory"]+ends["error"] == 0 {
		t.Errorf("nobody missed the memory: %v", ends)
	}
	detachClean(t, attachTo(t, p.PID), p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	t.Logf("how culprits without memory ended: %v; bytes were to be restored %d times", ends, left)
}

// starve starts a culprit, forbids it more memory at a random instant of the moment, and says how it ended.
func starve(t *testing.T, p *testprog.Prog, at moment) string {
	t.Helper()
	cmd := self("victim", strconv.Itoa(p.PID))
	var said bytes.Buffer
	cmd.Stderr = &said
	go drain(startHelper(t, cmd, at.word))
	time.Sleep(rand.N(at.within))
	limit := unix.Rlimit{Cur: mappedBytes(t, cmd.Process.Pid), Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_AS, &limit, nil); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Second, func() { cmd.Process.Kill() }) // it may well have enough
	defer timer.Stop()
	var ee *exec.ExitError
	switch err := cmd.Wait(); {
	case !errors.As(err, &ee):
		t.Fatalf("it ended with %v\n%s", err, &said)
	case ee.ExitCode() == 3:
		return "error"
	case strings.Contains(said.String(), "cannot allocate memory"), strings.Contains(said.String(), "out of memory"),
		strings.Contains(said.String(), "\ngoroutine 0 "): // the collector takes no memory for granted, but does not say so
		return "out of memory"
	case ee.ExitCode() != -1:
		t.Errorf("it ended with %v\n%s", err, &said)
	}
	return "killed"
}

// mappedBytes is how much address space a process has now.
func mappedBytes(t *testing.T, pid int) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}
