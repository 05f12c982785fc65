package threads

import (
	"encoding/binary"
	"fmt"

	"culprit/daemon/arch"
	"culprit/daemon/process"
)

// Meets notes the thread pointer of a thread, 0 if it is not known, and reports whether it is not known yet what the thread began with.
func (t *Table) Meets(tid int, fs uint64) (rootless bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fs != 0 {
		t.points(fs, tid)
	}
	r := t.rows[tid]
	return r != nil && !r.rooted
}

// points notes to which thread a thread pointer belongs. mu is held.
func (t *Table) points(fs uint64, tid int) {
	if before, ok := t.byFS[fs]; ok && before != tid {
		t.leaves(fs)
	}
	t.byFS[fs] = tid
}

// leaves notes that the thread of a thread pointer has ended. mu is held.
func (t *Table) leaves(fs uint64) {
	if r := t.rows[t.byFS[fs]]; r != nil {
		t.left[fs] = r
	}
}

// ForgetLeft is called when all that ended threads have done was told.
func (t *Table) ForgetLeft() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.left)
}

// OwnerOf is the live thread that a thread pointer belongs to, 0 if unknown. New threads are looked up in the memory of the process: the
// threads library keeps the tid at a fixed distance from the pointer, which Learn has measured.
func (t *Table) OwnerOf(fs uint64) (tid int) {
	t.mu.Lock()
	tid, known := t.byFS[fs]
	offset := t.tidOffset
	t.mu.Unlock()
	if known || offset == 0 || fs == 0 {
		return tid
	}
	tid = t.tidAt(fs, offset)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[tid] == nil {
		return 0
	}
	t.points(fs, tid)
	return tid
}

// TIDOffset is where a thread's control block holds its tid, as a distance from the thread pointer; 0 if unknown.
func (t *Table) TIDOffset() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tidOffset
}

// tidAt is the thread that the memory names at a thread pointer; 0 if it names none. The kernel clears it when a thread ends.
func (t *Table) tidAt(fs, offset uint64) int {
	var b [4]byte
	if offset == 0 || fs == 0 || t.cfg.Memory.ReadMem(process.Addr(fs+offset), b[:]) != nil {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[:]))
}

const (
	// enoughTold is how many threads tell where control blocks keep the tid: no other word is right in all of them.
	enoughTold = 32
	// blockSize is how much of a control block is looked at.
	blockSize = 2048
)

// Learn measures in a stopped process where thread control blocks keep the tid, from threads whose pointer and tid are both known.
func (t *Table) Learn(w *process.World) {
	list := w.Threads()
	t.mu.Lock()
	for _, th := range list {
		t.points(arch.ThreadPointer(&th.Regs), th.TID)
	}
	t.mu.Unlock()
	var candidates map[uint64]bool
	buf := make([]byte, blockSize)
	for _, th := range list[:min(len(list), enoughTold)] {
		fs := arch.ThreadPointer(&th.Regs)
		if fs == 0 || w.ReadMem(process.Addr(fs), buf) != nil {
			return
		}
		candidates = tidsIn(buf, th.TID, candidates)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for off := range candidates {
		if t.tidOffset == 0 || off < t.tidOffset {
			t.tidOffset = off
		}
	}
}

// tidsIn are the offsets in a control block that hold a tid, of those that did in the blocks before; nil = this is the first.
func tidsIn(block []byte, tid int, before map[uint64]bool) map[uint64]bool {
	here := map[uint64]bool{}
	for off := uint64(0); off+4 <= uint64(len(block)); off += 4 {
		if binary.LittleEndian.Uint32(block[off:]) == uint32(tid) && (before == nil || before[off]) {
			here[off] = true
		}
	}
	return here
}

// Joined is the handle (pthread_t) and the name of a thread that is waited for until it ends, by the futex word in its control block, which
// holds its number. name is "" if it is not known.
func (t *Table) Joined(word uint64) (handle uint64, name string) {
	var b [4]byte
	offset := t.TIDOffset()
	if offset == 0 || t.cfg.Memory.ReadMem(process.Addr(word), b[:]) != nil {
		return word, ""
	}
	return word - offset, fmt.Sprintf("thr_%d", binary.LittleEndian.Uint32(b[:]))
}
