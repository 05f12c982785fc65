package wakers

import (
	"errors"
	"math"
	"testing"
	"time"

	"culprit/daemon/threadstats"
)

// A kernelSide hands out what a test has it sum.
type kernelSide struct {
	needs int
	sums  []threadstats.Waking
	err   error
}

func (k *kernelSide) NeedWakers() (func(), error) {
	k.needs++
	return func() { k.needs-- }, k.err
}

func (k *kernelSide) Wakings() (list []threadstats.Waking, err error) {
	list, k.sums = k.sums, nil
	return list, k.err
}

// TestTable: it is kept while somebody asks, who woke longest comes first, old waits fade, and many wake-ups give a rest.
func TestTable(t *testing.T) {
	k := &kernelSide{}
	tab := &Table{Source: k}
	tab.Update(1)
	if k.needs != 0 || tab.Of(7) != nil {
		t.Fatal("it is kept, and nobody has asked")
	}
	tab.Ask(1)
	k.sums = []threadstats.Waking{{Waiter: 7, Waker: 8, Process: 5, Count: 3, Waited: 300 * time.Millisecond}, {Waiter: 7, Count: 50, Waited: 100 * time.Millisecond}}
	tab.Update(1.5)
	if got := tab.Of(7); len(got) != 2 || got[0].Waker != (Waker{8, 5}) || math.Abs(got[0].Of-0.75) > 1e-9 || got[1].Waker != (Waker{}) {
		t.Errorf("woken by %+v", got)
	}
	for now := 2.0; now < 3; now += 0.2 {
		tab.Ask(now)
		k.sums = []threadstats.Waking{{Waiter: 7, Count: 1, Waited: 200 * time.Millisecond}}
		tab.Update(now)
	}
	if got := tab.Of(7); got[0].TID != 0 {
		t.Errorf("later it is woken by %+v", got)
	}
	tab.Update(7)
	if k.needs != 0 {
		t.Error("nobody has asked for seconds, and it is kept")
	}
	tab.Ask(8)
	k.sums = []threadstats.Waking{{Waiter: 7, Count: 20000, Waited: time.Second}}
	tab.Update(9)
	tab.Ask(9.5)
	if k.needs != 0 {
		t.Error("there are too many wake-ups, and they are kept")
	}
	if tab.Ask(20); k.needs != 1 {
		t.Error("after a rest it is not kept again")
	}
	k.err = errors.New("gone")
	tab.Update(21)
	if tab.Ask(40); k.needs != 0 {
		t.Error("the kernel does not keep it, and is asked again")
	}
}
