// Package wakers keeps who ended the waits of the targets' threads lately. The kernel sums it while it is asked for: a thread that waits was
// seen not long ago. Where threads are woken very often it is asked for a second in ten only.
//
// It must not know targets, or what is measured of them. A Table is for one goroutine at a time.
package wakers

import (
	"cmp"
	"slices"

	"culprit/daemon/threadstats"
)

// A Waker is a thread that ends waits; the zero value is the kernel: a device, the network, a timer.
type Waker struct{ TID, PID int }

// A Share is the part of a thread's waits that one waker has ended, 0 to 1.
type Share struct {
	Waker
	Of float64
}

// A Source is where the sums are kept.
type Source interface {
	// NeedWakers has them kept until release is called.
	NeedWakers() (release func(), err error)
	// Wakings takes what was summed since the last call.
	Wakings() ([]threadstats.Waking, error)
}

// A Table is who woke whom. Times are session times, in seconds.
type Table struct {
	Source  Source
	release func() // nil while nothing is kept
	failed  bool   // the kernel does not keep it
	asked   float64
	took    float64 // when it was read last
	rested  float64 // until when nothing is kept
	of      map[int]map[Waker]float64
}

const (
	unasked = 3.0   // s after which nobody asks any more
	often   = 10000 // wake-ups a second above which it is kept for a while only
	while   = 1.0   // s
	rest    = 9.0   // s
	fade    = 0.85  // what is left of a wait after a second
	least   = 1e-6  // s; what is less is forgotten
)

// Ask has it kept for the next seconds.
func (t *Table) Ask(now float64) {
	t.asked = now
	if t.release != nil || t.failed || now < t.rested {
		return
	}
	release, err := t.Source.NeedWakers()
	if t.failed = err != nil; t.failed {
		return
	}
	t.release, t.took = release, now
	_, _ = t.Source.Wakings() // of before
}

// Update reads what was summed.
func (t *Table) Update(now float64) {
	if t.release == nil || now <= t.took {
		return
	}
	list, err := t.Source.Wakings()
	if err != nil {
		t.failed = true
		t.Close()
		return
	}
	woken := 0.0
	t.age(now - t.took)
	for _, w := range list {
		woken += float64(w.Count)
		t.note(w)
	}
	many := woken/(now-t.took) > often
	t.took = now
	switch {
	case many:
		t.rested = now + rest
		t.Close()
	case now-t.asked > unasked:
		t.Close()
	}
}

func (t *Table) age(seconds float64) {
	left := 1 - (1-fade)*min(seconds, while)
	for tid, by := range t.of {
		for w := range by {
			if by[w] *= left; by[w] < least {
				delete(by, w)
			}
		}
		if len(by) == 0 {
			delete(t.of, tid)
		}
	}
}

func (t *Table) note(w threadstats.Waking) {
	if t.of == nil {
		t.of = map[int]map[Waker]float64{}
	}
	if t.of[w.Waiter] == nil {
		t.of[w.Waiter] = map[Waker]float64{}
	}
	t.of[w.Waiter][Waker{w.Waker, w.Process}] += w.Waited.Seconds()
}

// Of lists who ended the waits of a thread, the one that ended most first; nil if that is not known.
func (t *Table) Of(tid int) (list []Share) {
	all := 0.0
	for w, s := range t.of[tid] {
		list, all = append(list, Share{w, s}), all+s
	}
	for i := range list {
		list[i].Of /= all
	}
	slices.SortFunc(list, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.TID, b.TID)) })
	return list
}

// Close has nothing kept any more; what is known stays.
func (t *Table) Close() {
	if t.release != nil {
		t.release()
		t.release = nil
	}
}
