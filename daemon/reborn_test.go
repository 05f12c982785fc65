package daemon

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/daemon/patch"
	"culprit/daemon/segment"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// reborn starts a program under a pid that has just become free.
func reborn(t *testing.T, pid int, bin string) *testprog.Prog {
	t.Helper()
	p := testprog.Start(t, testprog.Build(t, "daemon/testdata/reborn.c"), strconv.Itoa(pid), bin)
	select {
	case <-p.Done():
		if p.Wait(t, time.Second) == 9 {
			require.Skip(t, "choosing a pid needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN: run the tests as root")
		}
	case <-time.After(20 * time.Millisecond):
	}
	p.Expect(t, fmt.Sprintf("READY %d", pid), 10*time.Second)
	return p
}

// undamaged checks that a process never saw anything of us.
func undamaged(t *testing.T, p *testprog.Prog, pid int, want string) {
	t.Helper()
	if v, err := patch.Verify(pid); err != nil || !v.Clean() {
		t.Errorf("another process of the same pid: %+v, %v", v, err)
	}
	p.MustBeat(t, 5*time.Second)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// TestPidIsUsedAgain kills targets at random instants of being measured and has another process take over the pid at once: the
// tool ends, and has neither written to the other process nor left it anything.
func TestPidIsUsedAgain(t *testing.T) {
	require.Root(t)
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	n := rounds(6, 300)
	for i := range n {
		p := testprog.StartTarget(t, bin)
		cmd := self("victim", strconv.Itoa(p.PID), "once")
		var said bytes.Buffer
		cmd.Stderr = &said
		at := moments[i%len(moments)]
		lines := startHelper(t, cmd, at.word)
		go drain(lines)
		time.Sleep(rand.N(at.within))
		p.Kill()
		other := reborn(t, p.PID, bin)
		timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		if _, status := endOf(cmd.Wait()); status != 0 && status != 3 || strings.Contains(said.String(), "goroutine") {
			t.Errorf("after %q: status %d\n%s", at.word, status, &said)
		}
		timer.Stop()
		undamaged(t, other, p.PID, want)
	}
	t.Logf("%d targets were killed, and %d other processes of the same pid undisturbed", n, n)
}

// drain lets a helper say what it wants.
func drain(lines *bufio.Scanner) {
	for lines.Scan() {
	}
}

// TestSessionOutlivesItsTarget: a session whose target has ended and whose pid is another's touches the other in no way, whatever
// it is asked to do.
func TestSessionOutlivesItsTarget(t *testing.T) {
	require.Root(t)
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	want := undisturbed(t, bin)
	p := testprog.StartTarget(t, bin)
	d := attachTo(t, p.PID)
	var s sums
	counter, timer := nameOf(t, d, "procedure_calls", "through_c"), nameOf(t, d, "exec_time_inclusive", "through_c")
	d.mustEnable(t, &s, counter)
	p.Kill()
	other := reborn(t, p.PID, bin)
	if r := d.Enable([]grid.PairKey{timer}, &s); !errors.Is(r[0].Err, grid.ErrTargetExited{PID: p.PID}) {
		t.Errorf("a pair of a process that is no more: %v", r[0].Err)
	}
	d.Disable([]grid.PairKey{counter})
	d.Settle()
	d.discover()
	if clean, err := d.Detach(); !clean {
		t.Errorf("detach: %v", err)
	}
	undamaged(t, other, p.PID, want)
}

// TestCulpritsPidIsUsedAgain: another process with the pid of a culprit that was killed is not taken for it.
func TestCulpritsPidIsUsedAgain(t *testing.T) {
	require.Root(t)
	bin := testprog.Build(t, "testdata/targets/selfcheck.c")
	p := testprog.StartTarget(t, bin)
	cmd := self("victim", strconv.Itoa(p.PID), "hold")
	go drain(startHelper(t, cmd, "on"))
	cmd.Process.Kill()
	cmd.Wait()
	other := reborn(t, cmd.Process.Pid, bin)
	owner, alive, found, err := segment.Owner(p.PID)
	if owner != cmd.Process.Pid || alive || !found || err != nil {
		t.Errorf("owner %d (was %d), alive %v, found %v, %v", owner, cmd.Process.Pid, alive, found, err)
	}
	restoreClean(t, p)
	other.Stop(t)
	p.Stop(t)
}
