package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// deepTarget starts the program and puts probes into it while it is where its stack has room.
func deepTarget(t *testing.T) (*testprog.Prog, *Daemon) {
	t.Helper()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/deep.c", "-Wl,-z,now"))
	d := attachTo(t, p.PID)
	keys := functionsOf(d, "procedure_calls", inMain(d))
	on := 0
	for _, r := range d.Enable(keys, &sums{}) {
		if r.Err == nil {
			on++
		}
	}
	if on < 3 {
		t.Fatalf("%d of %d pairs are on", on, len(keys))
	}
	return p, d
}

// goDeep tells the program to.
func goDeep(t *testing.T, p *testprog.Prog, how string) {
	t.Helper()
	p.Say(t, how)
	p.Expect(t, "DEEP", 10*time.Second)
	p.MustBeat(t, 10*time.Second)
}

// TestDetachFromADeepStack: a program that stays for ever where its main stack was never deeper is left.
func TestDetachFromADeepStack(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, testprog.Build(t, "daemon/testdata/deep.c", "-Wl,-z,now"))
	p, d := deepTarget(t)
	goDeep(t, p, "deep")
	detachClean(t, d, p.PID)
	p.MustBeat(t, 10*time.Second)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// TestRestoreOfADeepStack: what a killed culprit has left in such a program goes while it stays there.
func TestRestoreOfADeepStack(t *testing.T) {
	t.Parallel()
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/deep.c", "-Wl,-z,now"))
	run(t, "batch.settle:kill-self", "victim", strconv.Itoa(p.PID), "once")
	goDeep(t, p, "deep")
	if r := restoreClean(t, p); r.Restored == 0 {
		t.Errorf("%+v: this test shows nothing", r)
	}
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
}

// TestDetachFromAStackAtItsLimit: a program that has no room for a call most of the time is left when it has some.
func TestDetachFromAStackAtItsLimit(t *testing.T) {
	t.Parallel()
	p, d := deepTarget(t)
	goDeep(t, p, "swing")
	detachClean(t, d, p.PID)
	p.MustBeat(t, 10*time.Second)
	p.Stop(t)
}

// TestWhatPassesIsTriedAgain, and what does not is not.
func TestWhatPassesIsTriedAgain(t *testing.T) {
	for _, passes := range []bool{true, false} {
		tries := 0
		err := process.Patiently(func() error {
			if tries++; tries > 3 {
				return nil
			}
			return fmt.Errorf("munmap: %w", &process.Unsupported{What: "a stack without room", Passes: passes})
		})
		if passes && (err != nil || tries != 4) || !passes && (!errors.As(err, new(*process.Unsupported)) || tries != 1) {
			t.Errorf("passes %v: %d tries, %v", passes, tries, err)
		}
	}
}
