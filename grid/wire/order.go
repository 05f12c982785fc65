package wire

import (
	"fmt"
	"time"
)

// Bounds of what may come out of order.
const (
	maxAhead = 256             // messages that wait for one before them
	maxWait  = 5 * time.Second // for a message that is missing
)

// An ErrOrder says that a message came again, or that one is missing.
type ErrOrder struct {
	Number  uint64 // that came, or is missing
	Missing bool
}

// Error says which.
func (e ErrOrder) Error() string {
	if e.Missing {
		return fmt.Sprintf("message %d did not come", e.Number)
	}
	return fmt.Sprintf("message %d came before", e.Number)
}

// An Order brings messages into the order of their numbers. The zero value waits for number 1. It has no lock.
type Order[T any] struct {
	last    uint64 // number of the last that was given out
	waiting map[uint64]T
	since   time.Time // when the first of them came
}

// Put takes a message that came at some time and gives those out whose turn it is. The error is ErrOrder: for one that came before, which
// changes nothing, and for one that is missing, after which no order can be had any more.
func (o *Order[T]) Put(number uint64, message T, at time.Time) (turn []T, err error) {
	if _, here := o.waiting[number]; here || number <= o.last {
		return nil, ErrOrder{Number: number}
	}
	if o.waiting == nil {
		o.waiting = map[uint64]T{}
	}
	if len(o.waiting) == 0 {
		o.since = at
	}
	o.waiting[number] = message
	for {
		next, ok := o.waiting[o.last+1]
		if !ok {
			break
		}
		delete(o.waiting, o.last+1)
		turn, o.last, o.since = append(turn, next), o.last+1, at
	}
	return turn, o.Missing(at)
}

// Missing is ErrOrder if a message has been waited for too long, or too many have come after it.
func (o *Order[T]) Missing(at time.Time) error {
	if len(o.waiting) > maxAhead || len(o.waiting) > 0 && at.Sub(o.since) > maxWait {
		return ErrOrder{Number: o.last + 1, Missing: true}
	}
	return nil
}
