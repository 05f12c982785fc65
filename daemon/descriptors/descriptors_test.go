package descriptors

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stillOpen counts those of a reserve that are open.
func stillOpen(r Reserve) (n int) {
	for _, fd := range r {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

// numberOfFree is the limit below which so many numbers of descriptors are free now.
func numberOfFree(t *testing.T, n int) (limit uint64) {
	t.Helper()
	var trial Reserve
	defer trial.Release()
	if trial.keep(n); len(trial) != n {
		t.Fatalf("only %d descriptors can be opened", len(trial))
	}
	return uint64(slices.Max(trial)) + 1
}

// TestReserve: descriptors are kept back and given back, and too few are an error that says what to do.
func TestReserve(t *testing.T) {
	var r Reserve
	r.keep(keptBack)
	if n := stillOpen(r); n != keptBack {
		t.Errorf("%d are open, want %d", n, keptBack)
	}
	kept := slices.Clone(r)
	r.Release()
	r.Release()
	if n := stillOpen(kept); n != 0 {
		t.Errorf("%d are open afterwards", n)
	}
	if err := openable(8); err != nil {
		t.Error(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	limit := numberOfFree(t, 4)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	if err := openable(keptBack); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("with numbers below %d: %v", limit, err)
	}
}
