package threadstats

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// eachKernel runs a test with what kernels of today have, and with what they all have.
func eachKernel(t *testing.T, f func(t *testing.T, k *Keeper)) {
	t.Run("today", func(t *testing.T) {
		k := opened(t)
		if has := kernelSince(t, 6, 9); k.shape.hasMayGoto != has {
			t.Errorf("may_goto is used: %v; the kernel should have it: %v", k.shape.hasMayGoto, has)
		}
		if has := kernelSince(t, 6, 2); (k.shape.casts != nil) != has {
			t.Errorf("casts are used: %v; the kernel should have them: %v", k.shape.casts != nil, has)
		}
		f(t, k)
	})
	t.Run("before 6.2", func(t *testing.T) {
		k := openedBy(t, func() (*Keeper, error) { return open((*shape).anywhere) })
		for _, q := range Quantities() {
			needed(t, k, q)
		}
		if k.shape.hasMayGoto || k.shape.casts != nil {
			t.Error("what only kernels of today have is used")
		}
		f(t, k)
	})
}

// TestWhatTheKernelRefuses: what is refused with what kernels of today have is tried without. What is refused here is programs that
// read in front of a task.
func TestWhatTheKernelRefuses(t *testing.T) {
	k := opened(t)
	if !k.shape.hasMayGoto && k.shape.casts == nil {
		require.Skip(t, "this kernel knows neither may_goto nor casts")
	}
	right := k.shape.pid
	k.shape.pid = -32768
	if _, err := k.load(switchHooks); err == nil {
		t.Error("programs that read in front of a task were loaded")
	}
	if k.shape.hasMayGoto || k.shape.casts != nil {
		t.Error("nothing else was tried")
	}
	k.shape.pid = right
	loaded, err := k.load(switchHooks)
	if err != nil {
		t.Fatal(err)
	}
	loaded.Close()
}

// TestKernelsWithoutStates: before Linux 5.18 a switch does not tell the state of the thread that leaves, which is said before anything is
// loaded.
func TestKernelsWithoutStates(t *testing.T) {
	if err := (&shape{}).unmet(); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "5.18") {
		t.Errorf("a kernel without: %v", err)
	}
	if err := Unsupported(); err != nil && !errors.Is(err, ErrNoBTF) && kernelSince(t, 5, 18) {
		t.Errorf("this kernel: %v", err)
	}
}

// kernelSince tells whether the kernel is of a release or later.
func kernelSince(t *testing.T, major, minor int) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var isMajor, isMinor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &isMajor, &isMinor); err != nil {
		t.Fatal(err)
	}
	return isMajor > major || isMajor == major && isMinor >= minor
}
