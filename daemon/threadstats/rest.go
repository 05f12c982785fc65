package threadstats

import (
	"sync/atomic"
	"time"
)

// Each switch of a watched thread takes some tenths of a microsecond more while rows are kept, and a server that answers small requests
// switches a hundred thousand times a second. So the programs of switches are there as long as somebody reads rows, and not while the
// search has found what it was looking for.

// Rest has the programs of switches detached if nobody has needed a quantity for so long. The rows stand still then, whatever their
// threads do, and sums of all quantities go on from where they were at the next Need: nothing of the time between is in them. It does
// nothing where the kernel has no walks over tasks: a thread that waits would be met too late.
func (k *Keeper) Rest(after time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.resting || k.needed != [needCount]int{} || k.walker == nil || time.Since(k.left) < after {
		return
	}
	k.resting, k.types = true, nil
	detachAll(k.always)
}

// Resting reports whether the rows stand still.
func (k *Keeper) Resting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.resting
}

// rise has rows kept again, each as if its thread had just got it. Rows whose threads have ended meanwhile have no owner, and are given
// back. k.mu is held.
func (k *Keeper) rise() error {
	for t := range k.tables {
		t.disown()
	}
	if err := attachAgain(k.always); err != nil {
		return err
	}
	k.resting = false
	if err := k.meet(); err != nil {
		return err
	}
	for t := range k.tables {
		for i := range t.slots {
			t.Free(i)
		}
	}
	return nil
}

// disown forgets what the rows' threads were doing, and whose they are: a thread takes its own again when it is met. No program changes
// rows meanwhile.
func (t *Table) disown() {
	for i := range t.slots {
		if t.Key(i) == 0 {
			continue
		}
		row := t.mem[i*RowSize : (i+1)*RowSize]
		for _, off := range []int{SinceOff, WokenOff, callOff, faultOff} {
			atomic.StoreUint64(word(row, off), 0)
		}
		atomic.StoreUint32(half(row, ownerOff), 0)
	}
}
