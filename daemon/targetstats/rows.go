package targetstats

import (
	"iter"

	"culprit/daemon/threadstats"
)

// A Row is what is kept of one thread. Rows are given to other threads when theirs have ended.
type Row struct {
	Index         int
	ThreadPointer uint64
	Life          int    // which of the row's threads it is, among those with one thread pointer
	Value         uint64 // of the quantity that was asked for
}

// Rows are those that have a thread, with what a quantity is now.
func (t *Table) Rows(q threadstats.Quantity) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if t.kept == nil {
			return
		}
		now := monotonic()
		for i := range t.kept.Slots() {
			tp := t.kept.Key(i)
			if tp != 0 && !yield(Row{i, tp, t.lives[i], uint64(t.kept.Value(i, q, now))}) {
				return
			}
		}
	}
}

// Owner is the number of the thread that a row belongs to; 0 if it has ended or that is not known. In a target without probes no stop tells
// which thread has which thread pointer: the rows say it themselves.
func (t *Table) Owner(r Row) int {
	if t.seg == nil {
		return t.kept.Owner(r.Index)
	}
	return t.Threads.OwnerOf(r.ThreadPointer)
}

// KnowsOwners reports whether Owner may know anything.
func (t *Table) KnowsOwners() bool { return t.seg != nil || t.kept != nil && t.kept.KnowsOwners() }

// Free gives back the row of a dead thread whose block was freed.
func (t *Table) Free(threadPointer uint64) {
	if t.kept == nil {
		return
	}
	if i, ok := t.kept.Find(threadPointer); ok {
		t.free(i)
	}
}

func (t *Table) free(index int) {
	if t.kept.Free(index) {
		t.lives[index]++
	}
}

// Tidy gives the rows of dead threads back when half of all are taken, after they were read. Where there are probes that happens together
// with the thread blocks.
func (t *Table) Tidy() {
	if t.seg == nil && t.kept != nil && t.Taken() > t.kept.Slots()/2 {
		t.FreeDead()
	}
}

// Taken is how many rows have a thread.
func (t *Table) Taken() (n int) {
	if t.kept == nil {
		return 0
	}
	for i := range t.kept.Slots() {
		if t.kept.Key(i) != 0 {
			n++
		}
	}
	return n
}

// FreeDead gives back all rows whose threads have ended.
func (t *Table) FreeDead() {
	if t.kept == nil {
		return
	}
	for i := range t.kept.Slots() {
		t.free(i)
	}
}
