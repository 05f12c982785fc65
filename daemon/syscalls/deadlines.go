package syscalls

import (
	"time"

	"golang.org/x/sys/unix"
)

// Threads share places by the low bits of their numbers: of two that do, the one that cancelled a timer last is known.
const (
	places    = 1 << 16
	placeSize = 32 // number of the thread, when it cancelled its timer, and when that would have ended (ns of the monotonic clock)

	atThread, atCancelled, atEnd = 0, 8, 16
)

// Deadlines know when waits would have ended. Without Close the kernel keeps its program until this process ends.
type Deadlines struct{ attachable }

// OpenDeadlines loads the program. Errors are the kernel's: of rights (CAP_BPF and CAP_PERFMON), of kernels that do not describe their types;
// and ErrNamespace. It takes some 20 ms, and what the types take when they are asked for first.
func OpenDeadlines(types *Types) (*Deadlines, error) {
	t := &Deadlines{attachable{kept: time.Second}} // another stop is likely soon, and to begin takes a millisecond
	if err := t.open("culprit_ends", places*placeSize, unix.PROT_READ, cancelProgram, types); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Begin has the kernel look, until End was called as often. It says whether it does.
func (t *Deadlines) Begin() bool { return t.attach() }

// End is called for each Begin that was answered with true.
func (t *Deadlines) End() { t.detach() }

// EndOf is when the wait of a thread would have ended, on the monotonic clock, if it was broken off at since or later. The thread must stand
// still.
func (t *Deadlines) EndOf(tid int, since time.Duration) (end time.Duration, ok bool) {
	t.with(func(shared []byte) {
		at := tid & (places - 1) * placeSize
		end = time.Duration(word(shared, at+atEnd).Load())
		ok = word(shared, at+atThread).Load() == uint64(tid) && time.Duration(word(shared, at+atCancelled).Load()) >= since
	})
	return end, ok
}
