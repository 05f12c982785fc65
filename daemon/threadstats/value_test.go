package threadstats

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// paper is a table that no kernel knows, with words in its first row.
func paper(words map[int]uint64) *Table {
	t := &Table{slots: 64, mem: make([]byte, pages(65*RowSize))}
	for off, w := range words {
		binary.LittleEndian.PutUint64(t.mem[off:], w)
	}
	return t
}

// TestValueCountsWhatIsGoingOn has rows written by hand: a thread that waits, one that was woken, one that was put off the processor.
func TestValueCountsWhatIsGoingOn(t *testing.T) {
	why := func(q Quantity, flags uint64) uint64 { return (77<<ownerShift | uint64(q) | flags) << 32 }
	waits := paper(map[int]uint64{SinceOff: 1000, seqOff: why(BlockedFutex, ioBit), sum(OffCPU): 50, sum(BlockedFutex): 40, sum(RunQueueWait): 10, sum(BlockTime): 5})
	ready := paper(map[int]uint64{SinceOff: 1000, WokenOff: 1300, seqOff: why(BlockedFutex, 0), sum(OffCPU): 50})
	forced := paper(map[int]uint64{SinceOff: 1000, WokenOff: 1000, seqOff: why(Preempted, 0), sum(Preempted): 7})
	calls := paper(map[int]uint64{SinceOff: 1000, callOff: 600, seqOff: why(BlockedPipe, 0), sum(OffCPU): 100, sum(SystemTime): 9})
	faults := paper(map[int]uint64{SinceOff: 1000, faultOff: 900, seqOff: why(BlockedFault, 0), sum(FaultTime): 3})
	for _, c := range []struct {
		what string
		t    *Table
		q    Quantity
		now  int64
		want int64
	}{
		{"waits", waits, OffCPU, 1500, 550}, {"waits", waits, BlockedFutex, 1500, 540}, {"waits", waits, RunQueueWait, 1500, 10},
		{"waits", waits, BlockTime, 1500, 505}, {"waits", waits, BlockedPipe, 1500, 0}, {"waits, read before", waits, OffCPU, 900, 50},
		{"ready", ready, OffCPU, 1500, 550}, {"ready", ready, BlockedFutex, 1500, 300}, {"ready", ready, RunQueueWait, 1500, 200},
		{"ready, read before", ready, BlockedFutex, 1200, 200}, {"ready, read before", ready, RunQueueWait, 1200, 0},
		{"forced", forced, Preempted, 1500, 507}, {"forced", forced, RunQueueWait, 1500, 500}, {"forced", forced, OffCPU, 1500, 500},
		{"in a call", calls, SystemTime, 1500, 9 + 300}, {"in a fault", faults, FaultTime, 1500, 603},
	} {
		if got := c.t.Value(0, c.q, c.now); got != c.want {
			t.Errorf("%s: %s at %d is %d, not %d", c.what, c.q, c.now, got, c.want)
		}
	}
	if waits.Value(-1, OffCPU, 0) != 0 || waits.Value(64, OffCPU, 0) != 0 || waits.Value(0, quantityCount, 0) != 0 {
		t.Error("what does not exist has a value")
	}
}

// TestRowsOfAHostileTarget reads and frees rows full of anything: nothing may panic, hang or leave the table.
func TestRowsOfAHostileTarget(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tab := paper(nil)
	for range 200 {
		for i := range tab.mem {
			tab.mem[i] = byte(r.Uint32())
		}
		for i := -1; i <= 64; i++ {
			if i >= 0 && i < 64 {
				tab.mem[i*RowSize+seqOff] &^= 1
			}
			for _, q := range Quantities() {
				tab.Value(i, q, int64(r.Uint64()))
			}
			if index, ok := tab.Find(tab.Key(i)); ok && (index < 0 || index >= 64) {
				t.Fatalf("row %d of 64", index)
			}
			tab.Free(i)
		}
	}
	tab.mem[seqOff] |= 1
	began := time.Now()
	tab.Value(0, OffCPU, 0)
	took := time.Since(began)
	t.Logf("a row that changes for ever was read within %v", took)
	if took > patience+2*time.Second {
		t.Error("that is too long")
	}
}
