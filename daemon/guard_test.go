package daemon

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/daemon/tracerguard"
	"culprit/internal/fault"
	"culprit/internal/procfs"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

func init() { helpers["guard"] = func([]string) int { return tracerguard.Watch() } }

func testGuard() *exec.Cmd { return self("guard") }

// TestFrozenCulprit: a culprit that is stopped by a signal in the middle of what it does to a target lets go of it first. It is
// stopped then, as somebody wanted, and ends well when it is continued.
func TestFrozenCulprit(t *testing.T) {
	t.Parallel() // those that trace are processes of their own
	require.Root(t)
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	p := testprog.StartTarget(t, bin)
	frozen := 0
	for _, name := range fault.Names() {
		if strings.HasPrefix(name, "restore.") {
			continue // a command that has no guard: it is over at once
		}
		if freezeAt(t, p, name) {
			frozen++
		}
	}
	if frozen < 10 {
		t.Errorf("only %d of the steps were frozen", frozen)
	}
	detachClean(t, attachTo(t, p.PID), p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	t.Logf("frozen at %d steps", frozen)
}

// freezeAt has a culprit stop itself at a fault point, if it comes there.
func freezeAt(t *testing.T, p *testprog.Prog, name string) (frozen bool) {
	t.Helper()
	cmd := self("victim", strconv.Itoa(p.PID), "once")
	cmd.Env = append(cmd.Env, fault.Variable+"="+name+":stop-self")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { cmd.Process.Kill() }()
	for calm := 0; calm < 10; { // stopped for long: not only until the guard continues it
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, &said)
			}
			return false
		case <-time.After(50 * time.Millisecond):
		}
		calm++
		if st, err := procfs.ReadStat(cmd.Process.Pid); err != nil || st.State != 'T' {
			calm = 0
		}
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(p.PID)); err != nil {
		t.Fatal(err)
	}
	t.Logf("frozen at %s", name)
	p.MustBeat(t, 10*time.Second)
	for {
		cmd.Process.Signal(syscall.SIGCONT)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: continued, it ended with %v\n%s", name, err, &said)
			}
			return true
		case <-time.After(100 * time.Millisecond):
		}
	}
}
