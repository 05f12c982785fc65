package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLockHolders: nobody has a lock that nobody waits for, and who has one is not asked twice in a moment.
func TestLockHolders(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var locks LockHolders
	call := BlockedCall{NR: unix.SYS_FLOCK, Args: [6]uint64{uint64(f.Fd()), unix.LOCK_EX}}
	if holder, ok := locks.Holder(os.Getpid(), call); !ok || holder != -1 {
		t.Errorf("process %d has it, %v", holder, ok)
	}
	locks.next = locks.next.Add(locksRest)
	if _, ok := locks.Holder(os.Getpid(), call); ok {
		t.Error("it was asked again at once")
	}
}
