package rows

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// eachLoop runs a test with loops as the kernel likes them best, and as kernels before 6.9 want them.
func eachLoop(t *testing.T, f func(t *testing.T, k *Keeper)) {
	t.Run("today", func(t *testing.T) {
		k := opened(t)
		if has := kernelSince(t, 6, 9); k.shape.hasMayGoto != has {
			t.Errorf("may_goto is used: %v; the kernel should have it: %v", k.shape.hasMayGoto, has)
		}
		f(t, k)
	})
	t.Run("before 6.9", func(t *testing.T) {
		k := openedBy(t, func() (*Keeper, error) { return open(false) })
		for _, q := range Quantities() {
			needed(t, k, q)
		}
		if k.shape.hasMayGoto {
			t.Error("may_goto is used")
		}
		f(t, k)
	})
}

// TestLoopsThatTheKernelRefuses: what is refused with loops of today is tried with those of before. What is refused here is programs that
// read in front of a task.
func TestLoopsThatTheKernelRefuses(t *testing.T) {
	k := opened(t)
	if !k.shape.hasMayGoto {
		require.Skip(t, "this kernel knows no may_goto")
	}
	right := k.shape.pid
	k.shape.pid = -32768
	if _, err := k.load(switchHooks); err == nil {
		t.Error("programs that read in front of a task were loaded")
	}
	if k.shape.hasMayGoto {
		t.Error("the other loops were not tried")
	}
	k.shape.pid = right
	loaded, err := k.load(switchHooks)
	if err != nil {
		t.Fatal(err)
	}
	loaded.Close()
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
