package threadstats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
)

// A Table has the rows of one process. Without Close it stays mapped and watched until this process ends.
type Table struct {
	keeper *Keeper
	tgid   uint32 // the process in the first namespace
	place  uint32 // in maps.tables
	first  bool   // we are in it, too
	slots  int
	rows   *ebpf.Map
	mem    []byte
	close  sync.Once
}

// Watch begins to keep rows for the threads of a process, whose number is what this process sees. slots is a power of two from 64
// to 65536: how many thread pointers have a row, at 256 bytes each. Threads that wait have theirs at
// once, and what they wait for counts from now on; those that run get theirs when they are switched. A process is watched by one Table at a time.
func (k *Keeper) Watch(pid, slots int) (*Table, error) {
	if slots < minSlots || slots > maxSlots || slots&(slots-1) != 0 {
		return nil, fmt.Errorf("a table of %d threads: the number must be a power of two from %d to %d", slots, minSlots, maxSlots)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	tgid, err := k.translate(pid)
	if err != nil {
		return nil, err
	}
	for t := range k.tables {
		if t.tgid == tgid {
			return nil, fmt.Errorf("process %d is watched already", pid)
		}
	}
	t, err := k.watch(tgid, slots)
	if err == nil {
		t.first, err = inFirstNamespace()
	}
	return t, err
}

// watch makes a table and tells the programs of it, the filter last: what they find then is whole.
func (k *Keeper) watch(tgid uint32, slots int) (*Table, error) {
	rows, err := ebpf.NewMap(tableSpec(slots))
	if err != nil {
		return nil, explain("making the table of per-thread statistics", err)
	}
	t := &Table{keeper: k, tgid: tgid, place: k.freePlace(), slots: slots, rows: rows}
	if t.mem, err = mapWhole(rows.FD(), (slots+1)*RowSize); err != nil {
		rows.Close()
		return nil, explain("mapping the table of per-thread statistics", err)
	}
	var proc [procSize]byte
	binary.LittleEndian.PutUint32(proc[procShift:], slotShift(slots))
	binary.LittleEndian.PutUint32(proc[procMask:], uint32(slots-1))
	binary.LittleEndian.PutUint32(proc[procTable:], t.place)
	k.tables[t] = true
	err = k.maps.tables.Put(t.place, rows)
	if err == nil {
		err = k.maps.processes.Put(tgid, proc[:])
	}
	if err != nil {
		k.forget(t)
		t.release()
		return nil, fmt.Errorf("watching one more process than %d, or: %w", len(k.tables), err)
	}
	k.pass(tgid)
	if err := k.meet(); err != nil {
		k.forget(t)
		t.release()
		return nil, err
	}
	return t, nil
}

// freePlace finds a place in maps.tables that no table has.
func (k *Keeper) freePlace() uint32 {
	taken := map[uint32]bool{}
	for t := range k.tables {
		taken[t.place] = true
	}
	place := uint32(0)
	for taken[place] {
		place++
	}
	return place
}

// pass sets the filter for all processes whose number ends like tgid.
func (k *Keeper) pass(tgid uint32) {
	low := tgid % filterSize
	set := uint32(0)
	for t := range k.tables {
		if t.tgid%filterSize == low {
			set = 1
		}
	}
	at := half(k.filter, int(low&^3))
	bit := uint32(1) << (8 * (low & 3))
	if set == 1 {
		atomic.OrUint32(at, bit)
	} else {
		atomic.AndUint32(at, ^bit)
	}
}

// forget tells the programs that a process is not watched any more.
func (k *Keeper) forget(t *Table) {
	delete(k.tables, t)
	if k.closed {
		return
	}
	if k.filter != nil {
		k.pass(t.tgid)
	}
	// Not there is as good as deleted.
	_ = k.maps.processes.Delete(t.tgid)
	_ = k.maps.tables.Delete(t.place)
}

// Close stops keeping rows for the process and unmaps them here. The target's own mapping stays, and stands still.
func (t *Table) Close() error {
	var err error
	t.close.Do(func() {
		t.keeper.mu.Lock()
		defer t.keeper.mu.Unlock()
		t.keeper.forget(t)
		err = t.release()
	})
	return err
}

func (t *Table) release() error {
	return errors.Join(unmap(t.mem), t.rows.Close())
}

// FD is the descriptor of the rows, to be given to the target: it maps [Table.Size] bytes at offset 0, for reading. The kernel lets
// nobody make such a mapping writable later, so that no stray store of the target reaches the rows; it maps only descriptors that
// could be written to, so the target's has to be closed when it is mapped. It belongs to the Table.
func (t *Table) FD() int { return t.rows.FD() }

// Size is the length of the mapping in bytes, whole pages.
func (t *Table) Size() int { return len(t.mem) }

// Slots is how many rows can have an owner. The row behind them is always zero.
func (t *Table) Slots() int { return t.slots }

// Mem is this process's mapping of the rows, until Close. It must not be written to.
func (t *Table) Mem() []byte { return t.mem }

// Find looks for the row of a thread pointer, as the target's code does.
func (t *Table) Find(threadPointer uint64) (index int, ok bool) {
	if threadPointer <= freed {
		return 0, false
	}
	first := FirstSlot(threadPointer, t.slots)
	for i := range probes {
		index := (first + i) % t.slots
		switch read(t.mem, index*RowSize+KeyOff) {
		case threadPointer:
			return index, true
		case 0:
			return 0, false
		}
	}
	return 0, false
}

// Key is the thread pointer that owns a row; 0 where none does.
func (t *Table) Key(index int) uint64 {
	if index < 0 || index >= t.slots {
		return 0
	}
	if key := read(t.mem, index*RowSize+KeyOff); key > freed {
		return key
	}
	return 0
}

// Filtered reports whether a thread that is off the processor now, or was when that was last seen, has its system calls filtered.
func (t *Table) Filtered() bool {
	for i := range t.slots {
		if t.Key(i) != 0 && read(t.mem, i*RowSize+SinceOff)&FilteredBit != 0 {
			return true
		}
	}
	return false
}

// KnowsOwners tells whether Owner knows more than nothing: the kernel's side has the numbers of the first pid namespace.
func (t *Table) KnowsOwners() bool { return t.first }

// Owner is the number of the thread that a row belongs to; 0 where there is none, where it has ended, or where KnowsOwners is false.
func (t *Table) Owner(index int) int {
	if !t.first || t.Key(index) == 0 {
		return 0
	}
	return int(readHalf(t.mem[index*RowSize:], ownerOff) >> ownerShift)
}

// Free gives a row back, with sums of 0, when its thread is known to be dead. It does nothing, and says so, where the kernel still
// knows an owner that lives.
func (t *Table) Free(index int) bool {
	key := t.Key(index)
	if key == 0 {
		return false
	}
	row := t.mem[index*RowSize : (index+1)*RowSize]
	if readHalf(row, ownerOff)>>ownerShift != 0 || !atomic.CompareAndSwapUint64(word(row, KeyOff), key, freed) {
		return false
	}
	// A thread with the same pointer that has found the row just now sees at its next switch that the key is gone, and looks again.
	for off := SinceOff; off < RowSize; off += 8 {
		atomic.StoreUint64(word(row, off), 0)
	}
	return true
}

// Exhausted is how many threads found no row because too many others have one.
func (t *Table) Exhausted() uint64 { return t.counter(procExhausted) }

// Keyless is how many threads have or had until their end no thread pointer, and so no row: made by clone without TLS.
func (t *Table) Keyless() uint64 { return t.counter(procKeyless) }

// Shared is how many threads were made with, or came upon, the thread pointer of another that lives. One that sets a pointer of
// its own afterwards has a row then.
func (t *Table) Shared() uint64 { return t.counter(procShared) }

// Unseen is how often a thread has come onto the processor and no trace point told: its sums were put right when it left again, until
// when [Table.Value] took it for waiting, and the thread itself missed the wait in its own reading.
func (t *Table) Unseen() uint64 { return t.counter(procUnseen) }

func (t *Table) counter(off int) uint64 {
	value, err := t.keeper.maps.processes.LookupBytes(t.tgid)
	if err != nil || len(value) < procSize {
		return 0
	}
	return binary.LittleEndian.Uint64(value[off:])
}
