package resume

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The number of a call takes the low half of rax. The kernel looks at no more of it since Linux 5.14, but keeps the high half as long as
// the thread is in this very call, and no longer. So that is where the moment stands at which a wait that we broke into is over: it
// survives us, and cannot be taken for that of a later wait.

// A moment is a time of the monotonic clock, in units of 4 ms. It comes again after 9.3 hours: one that is less than half of that ahead is
// still to come.
type moment uint32

const (
	momentBits = 23
	momentMask = 1<<momentBits - 1
	momentTag  = 0x5c // the high half is not negative and not what a program leaves there by chance
	momentUnit = 4 * time.Millisecond
	longestRun = 4 * time.Hour // waits of more are never taken to be over
	forever    = longestRun + 1
)

// momentAt is the first moment that is not before a time.
func momentAt(t time.Duration) moment { return moment((t+momentUnit-1)/momentUnit) & momentMask }

// left is how long it is from a time until the moment; negative if it is over.
func (m moment) left(now time.Duration) time.Duration {
	const round = momentUnit << momentBits
	ahead := (time.Duration(m)*momentUnit - now%round + round) % round
	if ahead >= round/2 {
		ahead -= round
	}
	return ahead
}

// HighHalfIgnored asks the kernel.
var HighHalfIgnored = sync.OnceValue(func() bool {
	_, _, e := unix.RawSyscall(unix.SYS_GETPPID|momentTag<<(32+momentBits), 0, 0, 0)
	return e == 0
})

// tag puts the moment beside the number of a call. It is lost where the kernel looks at all of rax.
func (m moment) tag(nr uint64) uint64 {
	if !HighHalfIgnored() {
		return nr
	}
	return nr | uint64(momentTag<<momentBits|m)<<32
}

// tagged is the moment that stands beside the number of a call.
func tagged(origRax uint64) (m moment, ok bool) {
	high := uint32(origRax >> 32)
	return moment(high & momentMask), high>>momentBits == momentTag
}
