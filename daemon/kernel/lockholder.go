package kernel

import "time"

// Who ends the wait for the lock of a file is known before it ends: the process that has the lock, as the kernel lists it.

// The list is that of the whole machine: it may be read for one part in so many of the time, but is after so long at the latest.
const (
	locksShare = 50
	locksRest  = 200 * time.Millisecond
)

// LockHolders knows who has the locks of files that threads wait for. Its zero value is ready.
type LockHolders struct {
	next time.Time // when it may be read again
}

// Holder is the process that has the lock for which a process waits in a call whose first argument is a descriptor; -1 if the kernel does not say which.
// ok is false if it was not asked: it was asked a moment before.
func (f *LockHolders) Holder(pid int, call BlockedCall) (holder int, ok bool) {
	began := time.Now()
	if began.Before(f.next) {
		return 0, false
	}
	holder = -1
	to, err := FDTarget(pid, int(int32(call.Args[0])))
	list, failed := FileLocks()
	for i := range list {
		l := &list[i]
		if err == nil && failed == nil && l.WaitsFor(pid, to.Inode) {
			holder = l.Holder
		}
	}
	f.next = time.Now().Add(min(locksShare*time.Since(began), locksRest))
	return holder, true
}
