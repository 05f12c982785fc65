package syscalls

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// What the program and we share: a place for each process that is looked at, then one for each thread. Both have places by the low bits of their
// numbers. Of two processes that do, the second is not looked at; of two threads, the one that moved data last is known.
const (
	processPlaces    = 1 << 10
	processPlaceSize = 8
	threadPlaceSize  = 32
	threadsAt        = processPlaces * processPlaceSize
	askedAt          = threadsAt + places*threadPlaceSize // the process of which sleepers are read
	sharedSize       = askedAt + 8

	// In a thread's place: its number; when it moved a large piece last (ns of the monotonic clock); its number if it is to stop where a call is
	// over.
	atMover, atMoved, atHold = 0, 8, 16
)

var errClosed = errors.New("the kernel is not asked any more")

// LargePiece is how many bytes a call must move so that it is taken note of.
const LargePiece = 16 << 10

// HoldSignals are the signals of which a thread gets one where it is to stop: of those that do nothing where a program does not catch them. The
// kernel's program takes the first that this one neither catches nor blocks.
var HoldSignals = []unix.Signal{unix.SIGWINCH, unix.SIGURG}

// betweenStops is how long the kernel goes on looking behind a stop. To begin again soon behind an end takes some milliseconds, and seconds on a busy machine:
// the kernel waits until each CPU has seen the end. Meanwhile each system call of each program takes some 40 ns longer: so not for longer.
const betweenStops = 500 * time.Millisecond

// Transfers know which threads move large pieces of data: by writing and sending, by receiving with MSG_WAITALL, by reading from
// devices of characters, by getrandom; and which threads sleep within calls. Without Close the kernel keeps its programs until this process ends.
type Transfers struct {
	attachable
	sleepers sleepers
}

// OpenTransfers loads the programs. Errors are those of OpenDeadlines.
func OpenTransfers(types *Types) (*Transfers, error) {
	t := &Transfers{attachable: attachable{kept: betweenStops}}
	err := t.open("culprit_moves", sharedSize, unix.PROT_READ|unix.PROT_WRITE, transferProgram, types)
	if err == nil {
		err = t.sleepers.load(t.memory.FD(), askedAt, types)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Close ends it: from then on nothing is known.
func (t *Transfers) Close() error { return errors.Join(t.sleepers.close(), t.attachable.Close()) }

// Begin has the kernel look at a process until End, and says whether it does. Where nobody is looked at
// it takes milliseconds, up to seconds on a busy machine.
func (t *Transfers) Begin(pid int) bool {
	mine := false
	t.with(func(shared []byte) {
		mine = word(shared, pid&(processPlaces-1)*processPlaceSize).CompareAndSwap(0, uint64(pid))
	})
	if !mine {
		return false
	}
	if !t.attach() {
		t.forget(pid)
		return false
	}
	return true
}

// End is called for each Begin that was answered with true.
func (t *Transfers) End(pid int) {
	t.forget(pid)
	t.detach()
}

func (t *Transfers) forget(pid int) {
	t.with(func(shared []byte) { word(shared, pid&(processPlaces-1)*processPlaceSize).Store(0) })
}

// MovedAt is when a thread ended the last call that moved a large piece, on the monotonic clock, as far as was looked.
func (t *Transfers) MovedAt(tid int) (at time.Duration, ok bool) {
	t.with(func(shared []byte) {
		place := threadPlace(tid)
		at = time.Duration(word(shared, place+atMoved).Load())
		ok = word(shared, place+atMover).Load() == uint64(tid)
	})
	if !ok {
		return 0, false
	}
	return at, true
}

// Hold has a thread get one of HoldSignals where its next call is over, or the one that it is in, once. It must be traced: whoever traces it keeps
// the signal from it. Should nobody be left to do so, it ignores it. It is false where another thread has the same place, or nobody looks.
func (t *Transfers) Hold(tid int) (held bool) {
	t.with(func(shared []byte) {
		hold := word(shared, threadPlace(tid)+atHold)
		held = hold.CompareAndSwap(0, uint64(tid)) || hold.Load() == uint64(tid)
	})
	return held
}

// Forget takes Hold back, and says whether the thread has got the signal since.
func (t *Transfers) Forget(tid int) (got bool) {
	t.with(func(shared []byte) { got = !word(shared, threadPlace(tid)+atHold).CompareAndSwap(uint64(tid), 0) })
	return got
}

func threadPlace(tid int) int { return threadsAt + tid&(places-1)*threadPlaceSize }
