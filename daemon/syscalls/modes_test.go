package syscalls

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

func openModes(t *testing.T) *Modes {
	t.Helper()
	require.Root(t)
	m, err := OpenModes(NewTypes())
	if err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestModes: what one thread of several asks for is seen, and is gone when it asks for it no more.
func TestModes(t *testing.T) {
	m := openModes(t)
	bin := testprog.Build(t, "testdata/odd/forbids.c")
	for _, c := range []struct {
		what string
		want Mode
	}{{"nothing", Mode{}}, {"tsc", Mode{NoTSC: true}}, {"dispatch", Mode{Dispatched: true}}} {
		p := testprog.Start(t, bin, c.what)
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			got, err := m.Of(p.PID)
			if err == nil && got == c.want {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %+v, %v", c.what, got, err)
			}
		}
		if mode, err := m.Of(os.Getpid()); err != nil || mode != (Mode{}) {
			t.Errorf("this process: %+v, %v", mode, err)
		}
		p.Stop(t)
		if _, err := m.Of(p.PID); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("a process that has ended: %v", err)
		}
	}
}

// TestKeyless: a thread that gives up its thread pointer is seen, while it runs. A program that begins has none yet.
func TestKeyless(t *testing.T) {
	m := openModes(t)
	p := testprog.Start(t, testprog.Build(t, "testdata/odd/fsbase.c", "-fno-stack-protector"))
	for _, want := range []bool{false, true} {
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			mode, err := m.Of(p.PID)
			if err == nil && mode == (Mode{Keyless: want}) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%+v, %v, want %v", mode, err, want)
			}
		}
	}
	p.Stop(t)
}

// TestEndedMainThread: one that has ended, which stays in the list of threads, has given up nothing.
func TestEndedMainThread(t *testing.T) {
	m := openModes(t)
	p := testprog.Start(t, testprog.Build(t, "daemon/testdata/mainends.c"))
	fmt.Fprintln(p.Stdin, "go")
	state := func() string {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", p.PID, p.PID))
		must(t, err)
		return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))[1]
	}
	for end := time.Now().Add(10 * time.Second); state() != "Z"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the main thread has not ended")
		}
	}
	if mode, err := m.Of(p.PID); err != nil || mode != (Mode{}) {
		t.Errorf("%+v, %v", mode, err)
	}
	p.Stop(t)
}

// TestCounterIsReadableAgain: to find the bit leaves the thread that does it as it was.
func TestCounterIsReadableAgain(t *testing.T) {
	m := openModes(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 50 {
		bit := m.noTSC
		must(t, m.findTSC())
		if m.noTSC != bit {
			t.Fatalf("bit %#x, then %#x", bit, m.noTSC)
		}
		if time.Since(time.Now()) > time.Hour { // reading the clock ends this process if the counter is forbidden
			t.Fatal("the clock jumps")
		}
	}
	var mask unix.Sigset_t
	must(t, unix.PthreadSigmask(unix.SIG_SETMASK, nil, &mask))
	if mask.Val[0]&(1<<(unix.SIGURG-1)) != 0 {
		t.Error("signals stay blocked")
	}
}
