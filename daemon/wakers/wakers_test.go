package wakers

import (
	"errors"
	"math"
	"testing"

	"culprit/daemon/threadstats"
)

// A kernelSide hands out what a test has it count.
type kernelSide struct {
	pids   []int
	counts []threadstats.Waking
	err    error
}

func (k *kernelSide) Count(pids []int) error {
	k.pids = pids
	return k.err
}

func (k *kernelSide) Take() (list []threadstats.Waking, err error) {
	list, k.counts = k.counts, nil
	return list, k.err
}

// TestTable: it is kept while somebody asks, who woke most often comes first, old waits fade, and many wake-ups give a rest.
func TestTable(t *testing.T) {
	k := &kernelSide{}
	tab := &Table{Source: k, Self: 99}
	pids := []int{5}
	tab.Update(1, pids)
	if len(k.pids) != 0 || tab.Of(7, Wait{}) != nil {
		t.Fatal("it is kept, and nobody has asked")
	}
	tab.Ask(1)
	tab.Update(1.2, pids)
	lock, other := Wait{202, 0x1000}, Wait{202, 0x2000}
	k.counts = []threadstats.Waking{
		{Waiter: 7, Call: 202, Arg: 0x1000, Waker: 8, Process: 5, Count: 3}, {Waiter: 7, Call: 202, Arg: 0x1000, Count: 1},
		{Waiter: 7, Call: 202, Arg: 0x2000, Waker: 9, Process: 5, Count: 12}, {Waiter: 7, Call: 0, Arg: 3, Waker: 8, Process: 5, Count: 16},
		{Waiter: 7, Call: 202, Arg: 0x1000, Waker: 98, Process: 99, Count: 1000},
	}
	tab.Update(1.4, pids)
	if got := tab.Of(7, lock); len(got) != 2 || got[0].Waker != (Waker{8, 5}) || math.Abs(got[0].Of-0.75) > 1e-9 || got[1].Waker != (Waker{}) {
		t.Errorf("for the lock it is woken by %+v", got)
	}
	if got := tab.Of(7, Wait{202, 0x3000}); len(got) != 3 || got[0].Waker != (Waker{9, 5}) || math.Abs(got[0].Of-0.75) > 1e-9 {
		t.Errorf("for a lock that is not known it is woken by %+v", got)
	}
	if !tab.Waits(7, lock) || tab.Waits(7, Wait{202, 0x3000}) || tab.Waits(8, lock) {
		t.Error("who waits for the lock is not told")
	}
	if got := tab.All(7); len(got) != 3 || got[0].Waker != (Waker{8, 5}) || tab.Of(7, Wait{1, 3}) != nil {
		t.Errorf("for all it is woken by %+v", got)
	}
	for now := 2.0; now < 3; now += 0.2 {
		tab.Ask(now)
		k.counts = []threadstats.Waking{{Waiter: 7, Call: 202, Arg: 0x2000, Count: 10}}
		tab.Update(now, pids)
	}
	if got := tab.Of(7, other); got[0].TID != 0 {
		t.Errorf("later it is woken by %+v", got)
	}
	tab.Update(7, pids)
	if len(k.pids) != 0 {
		t.Error("nobody has asked for seconds, and it is kept")
	}
	tab.Ask(8)
	tab.Update(8, pids)
	k.counts = []threadstats.Waking{{Waiter: 7, Count: 20000}}
	tab.Update(9, pids)
	tab.Ask(9.5)
	if tab.Update(9.6, pids); len(k.pids) != 0 {
		t.Error("there are too many wake-ups, and they are kept")
	}
	tab.Ask(20)
	if tab.Update(20, pids); len(k.pids) != 1 {
		t.Error("after a rest it is not kept again")
	}
	k.err = errors.New("gone")
	tab.Update(21, pids)
	k.err = nil
	tab.Ask(40)
	if tab.Update(40, nil); !tab.failed {
		t.Error("the kernel does not keep it, and is asked again")
	}
}

// TestBegin: what is counted from the beginning is known at the first reading.
func TestBegin(t *testing.T) {
	k := &kernelSide{}
	tab := &Table{Source: k, Self: 99}
	tab.Begin(0.1, []int{5})
	k.counts = []threadstats.Waking{{Waiter: 7, Call: 202, Arg: 8, Waker: 8, Process: 5, Count: 1}}
	if tab.Update(0.3, []int{5}); len(k.pids) != 1 || len(tab.Of(7, Wait{202, 8})) != 1 {
		t.Errorf("counted are %v, woken by %v", k.pids, tab.Of(7, Wait{202, 8}))
	}
}

// TestWaitsAreBounded: a thread that waits for ever new addresses takes no more room than for a few.
func TestWaitsAreBounded(t *testing.T) {
	k := &kernelSide{}
	tab := &Table{Source: k, Self: 99}
	tab.Ask(1)
	tab.Update(1, nil)
	for i := range 10 * maxWaits {
		k.counts = append(k.counts, threadstats.Waking{Waiter: 7, Call: 202, Arg: uint64(i+1) * 8, Waker: 8, Count: 1})
	}
	tab.Update(1.2, nil)
	if n := len(tab.of[7]); n > maxWaits+1 {
		t.Errorf("%d waits", n)
	}
	if got := tab.All(7); len(got) != 1 || got[0].Of != 1 {
		t.Errorf("%+v", got)
	}
}

// TestFeeders: a time limit that is over says nothing where threads end the waits often: neither from the beginning on, nor later; where they do so now
// and then it does.
func TestFeeders(t *testing.T) {
	for _, c := range []struct {
		name                 string
		limits, ends, within float64 // a second; and the part of the waits that the kernel is to have ended
	}{
		{"waits anew until it is told", 100, 50, 0},
		{"looks whether there is something", 100, 1, 100.0 / 101},
		{"nobody tells it", 100, 0, 1},
		{"told without a limit", 0, 50, 0},
	} {
		k := &kernelSide{}
		tab := &Table{Source: k, Self: 99}
		tab.Begin(0, []int{5})
		in := Wait{202, 0x1000}
		for step := 1; step <= 100; step++ {
			now := float64(step) / 5
			tab.Ask(now)
			for waker, rate := range map[int]float64{0: c.limits, 8: c.ends} {
				if n := uint64(rate*now) - uint64(rate*(now-0.2)); n > 0 {
					k.counts = append(k.counts, threadstats.Waking{Waiter: 7, Call: 202, Arg: 0x1000, Waker: waker, Process: 5 * min(waker, 1), Count: n})
				}
			}
			tab.Update(now, []int{5})
			if step != 5 && step != 100 {
				continue
			}
			kernel, all := 0.0, 0.0
			for _, s := range tab.Feeders(7, in) {
				if all += s.Of; s.TID == 0 {
					kernel = s.Of
				}
			}
			if math.Abs(kernel-c.within) > 0.02 || math.Abs(all-1) > 1e-9 {
				t.Errorf("%s, after %.0f s: %.2f of %.2f are the kernel's, expected %.2f", c.name, now, kernel, all, c.within)
			}
		}
	}
}

// TestTold: what a single interrupt shows of the kernel, or of a program that has nothing to do with it, is not told; what a device ends is put down to
// nobody else.
func TestTold(t *testing.T) {
	k := &kernelSide{}
	tab := &Table{Source: k, Self: 99}
	tab.Begin(0, []int{5})
	k.counts = []threadstats.Waking{
		{Waiter: 7, Call: 232, Arg: 3, Count: 1},
		{Waiter: 7, Call: 232, Arg: 4, Waker: 60, Process: 60, Count: 1},
		{Waiter: 7, Call: 232, Arg: 5, Waker: 8, Process: 5, Count: 1},
		{Waiter: 7, Call: 232, Arg: 6, Waker: 60, Process: 60, Count: 3},
		{Waiter: 7, Call: 232, Arg: 7, Waker: 101, Process: 101, Count: 1},
		{Waiter: 7, Call: 232, Arg: 7, Waker: 102, Process: 102, Count: 1},
		{Waiter: 7, Call: 74, Arg: 9, Waker: 60, Process: 60, Count: 5},
	}
	tab.Update(0.2, []int{5})
	own := func(pid int) bool { return pid == 5 }
	soon := func(pid int) bool { return pid > 100 }
	for arg, want := range map[uint64][]Waker{3: nil, 4: nil, 5: {{8, 5}}, 6: {{60, 60}}, 7: {Ended}} {
		got := tab.Told(7, Wait{232, arg}, own, soon)
		if len(got) != len(want) || len(want) > 0 && got[0].Waker != want[0] {
			t.Errorf("of descriptor %d %v is told, expected %v", arg, got, want)
		}
	}
	if got := tab.Told(7, Wait{74, 9}, own, soon); len(got) != 1 || got[0].Waker != (Waker{}) || got[0].Of != 1 {
		t.Errorf("fsync is ended by %v", got)
	}
}
