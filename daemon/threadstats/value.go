package threadstats

import "time"

// Value is a quantity of the row, in ns or times or bytes, with the part of what is going on at the moment: of a thread that is
// off the processor the time since it left, up to now, which is CLOCK_MONOTONIC in ns. It is read again when the row
// changes meanwhile. 0 where there is no such row or quantity.
func (t *Table) Value(index int, q Quantity, now int64) int64 {
	if index < 0 || index >= t.slots || q >= quantityCount {
		return 0
	}
	row := t.mem[index*RowSize : (index+1)*RowSize]
	var until time.Time
	for try := 0; ; try++ {
		before := readHalf(row, seqOff)
		v := valueOf(row, q, now)
		if before&1 == 0 && readHalf(row, seqOff) == before {
			return v
		}
		switch {
		case try < spins:
		case until.IsZero():
			until = time.Now().Add(patience)
		case time.Now().After(until):
			return int64(read(row, int(q.Offset()))) // the sum alone is one word, and never wrong
		default:
			time.Sleep(pause)
		}
	}
}

// A change of a row takes some 20 ns. It takes as long as a hypervisor likes that takes the processor away in the middle of it, which
// is tens of milliseconds: a row is read spins times without a pause, and then for as long as patience with pauses. A target that
// breaks its own rows on purpose makes its reader wait that long.
const (
	spins    = 100
	patience = 100 * time.Millisecond
	pause    = 100 * time.Microsecond
)

// valueOf reads once.
func valueOf(row []byte, q Quantity, now int64) int64 {
	v := int64(read(row, int(q.Offset())))
	since, wokenAt := int64(read(row, SinceOff)), int64(read(row, WokenOff))
	why := readHalf(row, ownerOff)
	end := now // of what it waits for
	if wokenAt != 0 {
		end = min(now, wokenAt)
	}
	reason := Quantity(why & reasonMask)
	switch {
	case q == SystemTime:
		return v + callInFlight(row, since, now)
	case since == 0:
		return v
	case q == OffCPU:
		return v + max(0, now-since)
	case q == RunQueueWait && wokenAt != 0, q == Preempted && reason == Preempted && wokenAt != 0:
		return v + max(0, now-wokenAt)
	case q == reason && q != Preempted, q == BlockTime && why&ioBit != 0:
		return v + max(0, end-since)
	case q == FaultTime && reason == BlockedFault:
		return v + faultInFlight(row, now)
	}
	return v
}

// callInFlight is the processor time of the system call that the thread is in.
func callInFlight(row []byte, since, now int64) int64 {
	entered := int64(read(row, callOff))
	if entered == 0 {
		return 0
	}
	off := int64(read(row, int(OffCPU.Offset())))
	if since != 0 {
		now = min(now, since)
	}
	return max(0, now-off-entered)
}

// faultInFlight is the time of the page fault that the thread waits in.
func faultInFlight(row []byte, now int64) int64 {
	if began := int64(read(row, faultOff)); began != 0 {
		return max(0, now-began)
	}
	return 0
}
