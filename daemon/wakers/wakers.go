// Package wakers keeps who ended the waits of the targets' threads lately. The kernel counts it while it is asked for: a thread that waits was
// seen not long ago. Where threads are woken very often it is asked for a second in ten only.
//
// It must not know targets, or what is measured of them. A Table is for one goroutine at a time, a Kernel for any.
package wakers

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/threadstats"
)

// A Waker is a thread that ends waits; the zero value is the kernel: a device, the network, a timer.
type Waker struct{ TID, PID int }

// Ended stands for threads of processes that end soon, each of which has ended a wait or two.
var Ended = Waker{-1, -1}

// A Share is the part of a thread's waits that one waker has ended, 0 to 1.
type Share struct {
	Waker
	Of float64
	N  float64 // waits that it has ended lately
}

// flushes are system calls that wait for a device alone. Its interrupt may come upon a system call of whoever has the CPU.
var flushes = map[int]bool{unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true, unix.SYS_SYNC_FILE_RANGE: true, unix.SYS_MSYNC: true, unix.SYS_SYNC: true, unix.SYS_SYNCFS: true}

// few is how many waits the kernel, or a thread that is none of the targets', must have ended to be told: one may be a time limit of a wait that goes on,
// or an interrupt that came upon that thread.
const few = 1.5

// most is how many threads are told that ended the waits of one.
const most = 8

// Told lists who is to be told of those that ended the waits of a thread for the same, the first of them; own says of which processes that is told after
// one wait, and soon which others have ended, or may soon: those are told together.
func (t *Table) Told(tid int, wait Wait, own, soon func(pid int) bool) []Share {
	list := t.Feeders(tid, wait)
	if flushes[wait.Call] && len(list) > 0 {
		return []Share{{Of: 1}}
	}
	var rare []Share
	list = slices.DeleteFunc(list, func(s Share) bool {
		is := s.N < few && !own(s.PID)
		if is && s.TID != 0 {
			rare = append(rare, s)
		}
		return is
	})
	if s := together(rare, soon); s.N >= few {
		list = append(list, s)
		slices.SortStableFunc(list, func(a, b Share) int { return cmp.Compare(b.Of, a.Of) })
	}
	return list[:min(len(list), most)]
}

// mostAsked bounds of how many processes it is asked whether they end soon: there may be hundreds a second.
const mostAsked = 16

// together adds up what processes that end soon have ended; it asks of some, and takes the others for such as they are.
func together(list []Share, soon func(pid int) bool) (s Share) {
	asked := list[:min(len(list), mostAsked)]
	ended := 0.0
	for _, one := range asked {
		if soon(one.PID) {
			ended++
		}
	}
	for _, one := range list {
		s.Of += one.Of * ended / float64(len(asked))
		s.N += one.N * ended / float64(len(asked))
	}
	s.Waker = Ended
	return s
}

// A Wait is what a thread waits in: the number of a system call, and its first argument.
type Wait struct {
	Call int
	Arg  uint64
}

// Any is no wait in particular.
var Any = Wait{Call: -1}

// In is the wait of a thread in a call.
func In(call kernel.BlockedCall) Wait { return Wait{call.NR, call.Args[0]} }

// A Source counts wake-ups.
type Source interface {
	// Count has the waits of the threads of these processes counted from now on, and of no others.
	Count(pids []int) error
	// Take takes what was counted since the last call.
	Take() ([]threadstats.Waking, error)
}

// A Table is who woke whom. Times are session times, in seconds. Its fields are set before it is used.
type Table struct {
	Source Source
	Self   int // process whose wake-ups are none of the program's

	counts bool // somebody is counted
	failed bool // the kernel does not count
	asked  float64
	took   float64 // when it was read last
	began  float64 // since when it is counted without a rest
	rested float64 // until when nothing is counted
	of     map[int]map[Wait]map[Waker]float64
}

const (
	unasked = 3.0   // s after which nobody asks any more
	often   = 10000 // wake-ups a second above which they are counted for a while only
	while   = 1.0   // s
	rest    = 9.0   // s
	fade    = 0.85  // what is left of a count after a second
	least   = 0.05  // what is less is forgotten

	maxWaits = 64 // of one thread
)

// Ask has it kept for the next seconds.
func (t *Table) Ask(now float64) { t.asked = now }

// Begin has the threads of these processes counted from now on, before anybody asks: what is known when they are first looked at is right then.
func (t *Table) Begin(now float64, pids []int) {
	t.asked, t.took, t.began, t.counts = now, now, now, true
	t.failed = t.Source.Count(pids) != nil
}

// Update reads what was counted, and has the threads of these processes counted from now on if anybody asks.
func (t *Table) Update(now float64, pids []int) {
	if t.failed {
		return
	}
	counted := t.counts
	if counted {
		t.read(now)
	}
	if t.counts = t.asked > 0 && now-t.asked <= unasked && now >= t.rested; !t.counts {
		pids = nil
	}
	t.failed = t.failed || t.Source.Count(pids) != nil
	if !counted {
		_, _ = t.Source.Take() // of before
		t.took, t.began = now, now
	}
}

func (t *Table) read(now float64) {
	list, err := t.Source.Take()
	if t.failed = err != nil; t.failed || now <= t.took {
		return
	}
	woken := 0.0
	t.age(now - t.took)
	for _, w := range list {
		if woken += float64(w.Count); w.Process != t.Self {
			t.note(w)
		}
	}
	if woken/(now-t.took) > often {
		t.rested = now + rest
	}
	t.took = now
}

func (t *Table) age(seconds float64) {
	left := 1 - (1-fade)*min(seconds, while)
	for tid, waits := range t.of {
		for wait, by := range waits {
			for w := range by {
				if by[w] *= left; by[w] < least {
					delete(by, w)
				}
			}
			if len(by) == 0 {
				delete(waits, wait)
			}
		}
		if len(waits) == 0 {
			delete(t.of, tid)
		}
	}
}

func (t *Table) note(w threadstats.Waking) {
	if t.of == nil {
		t.of = map[int]map[Wait]map[Waker]float64{}
	}
	if t.of[w.Waiter] == nil {
		t.of[w.Waiter] = map[Wait]map[Waker]float64{}
	}
	waits, wait := t.of[w.Waiter], Wait{w.Call, w.Arg}
	if waits[wait] == nil {
		if len(waits) >= maxWaits {
			wait.Arg = 0
		}
		if waits[wait] == nil {
			waits[wait] = map[Waker]float64{}
		}
	}
	waits[wait][Waker{w.Waker, w.Process}] += float64(w.Count)
}

// Of lists who ended the waits of a thread for the same, or in the same system call if that is not known; the one that ended most comes first. It is
// nil if nothing is known.
func (t *Table) Of(tid int, wait Wait) []Share {
	if by := t.of[tid][wait]; len(by) > 0 {
		return shares(by)
	}
	return t.sum(tid, func(w Wait) bool { return w.Call == wait.Call })
}

// enough is how often a second threads must end the waits of one for a time limit that is over to say nothing: the thread waits anew.
const enough = 4.0

// Feeders lists who ended the waits of a thread for the same, as Of does. Where threads end them often, time limits that were over before are left
// out: a thread that waits anew has waited for whoever ended it at last.
func (t *Table) Feeders(tid int, wait Wait) []Share {
	list := t.Of(tid, wait)
	i := slices.IndexFunc(list, func(s Share) bool { return s.Waker == Waker{} })
	if i < 0 || t.rate(tid, wait)*(1-list[i].Of) < enough {
		return list
	}
	timed := list[i].Of
	list = slices.Delete(list, i, i+1)
	for k := range list {
		list[k].Of /= 1 - timed
	}
	return list
}

// rate is how often a second the waits of a thread that Of tells of were ended lately.
func (t *Table) rate(tid int, wait Wait) (rate float64) {
	which := func(w Wait) bool { return w == wait }
	if len(t.of[tid][wait]) == 0 {
		which = func(w Wait) bool { return w.Call == wait.Call }
	}
	for w, by := range t.of[tid] {
		for _, n := range by {
			if which(w) {
				rate += n
			}
		}
	}
	return rate * (1 - fade) / (1 - math.Pow(fade, max(t.took-t.began, 0.1)))
}

// All lists who ended all waits of a thread.
func (t *Table) All(tid int) []Share { return t.sum(tid, func(Wait) bool { return true }) }

// Waits tells whether a thread was lately woken in a wait.
func (t *Table) Waits(tid int, wait Wait) bool { return len(t.of[tid][wait]) > 0 }

func (t *Table) sum(tid int, which func(Wait) bool) []Share {
	sum := map[Waker]float64{}
	for wait, by := range t.of[tid] {
		if which(wait) {
			for w, n := range by {
				sum[w] += n
			}
		}
	}
	return shares(sum)
}

func shares(by map[Waker]float64) (list []Share) {
	all := 0.0
	for n := range maps.Values(by) {
		all += n
	}
	for w, n := range by {
		list = append(list, Share{w, n / all, n})
	}
	slices.SortFunc(list, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.TID, b.TID)) })
	return list
}
