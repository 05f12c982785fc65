package sampling

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/grid"
)

// TestWokenBy: who ends waits is counted by thread and function, with the parts in which it worked and waited for a CPU; it fades, and a disk is not put down to a
// program that its interrupt came upon.
func TestWokenBy(t *testing.T) {
	c := &Counts{woken: map[string]*wokenBy{}}
	pipe := grid.Whole().Refine(grid.IO, "Pipe", "a")
	part := ObjectPart(pipe)
	for i := range 10 {
		does := [10]Doing{8: Delayed}[i]
		if i < 8 {
			does = Works
		}
		list := []Waker{{Thread: "reader", Function: "a.c/parse", Of: 0.9, Does: does, Busy: i >= 4}, {Thread: Kernel, Of: 0.1}}
		c.woken[part] = c.woken[part].with(list, i%2 == 0)
	}
	got := map[string]grid.Holder{}
	for _, h := range wakersAt(pipe, c, c) {
		got[h.Thread] = h
	}
	if r := got["reader"]; len(got) != 2 || math.Abs(r.Share-0.9) > 1e-9 || math.Abs(r.Works-0.72) > 1e-9 || math.Abs(r.Wholly-0.27) > 1e-9 || math.Abs(r.Delayed-0.09) > 1e-9 || !r.Wakes || r.Function != "a.c/parse" {
		t.Errorf("%+v", got)
	}
	if wakersAt(grid.Whole().Refine(grid.IO, "Pipe", "b"), c) != nil {
		t.Error("nobody has waited there")
	}
	for range 60 {
		c.fadeWoken()
	}
	if len(c.woken) != 0 {
		t.Errorf("after a minute there is %+v", c.woken)
	}
	for _, w := range byKernel([]Waker{{Thread: "bystander{7}", Outside: true, Of: 0.5}, {Thread: "writer", Of: 0.5}}) {
		if w.Thread != Kernel && w.Thread != "writer" {
			t.Errorf("%+v has ended a wait for a file", w)
		}
	}
}

// TestWakerInManyFunctions: what a thread ends in ten functions, 4 % in each, is told as 40 % of the thread.
func TestWakerInManyFunctions(t *testing.T) {
	c := &Counts{woken: map[string]*wokenBy{}}
	lock := grid.Whole().Refine(grid.SyncObject, "Mutex", "a")
	list := []Waker{{Thread: "main", Function: "a.c/loop", Of: 0.58, Does: Works}, {Thread: "rare", Function: "a.c/loop", Of: 0.02}}
	for i := range 10 {
		list = append(list, Waker{Thread: "main", Function: "a.c/step" + string(rune('0'+i)), Of: 0.04, Does: Works})
	}
	c.woken[ObjectPart(lock)] = c.woken[ObjectPart(lock)].with(list, false)
	got := map[string]grid.Holder{}
	for _, h := range wakersAt(lock, c) {
		got[h.Thread+" in "+h.Function] = h
	}
	if all := got["main in "]; len(got) != 2 || math.Abs(got["main in a.c/loop"].Share-0.58) > 1e-9 || math.Abs(all.Share-0.4) > 1e-9 || math.Abs(all.Works-0.4) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

// TestWhoElse: a worker of a pool that was woken by another one, which waits there again, was woken by who feeds them; where all wait nobody is
// left out. The words of a condition variable are one wait, descriptors are not.
func TestWhoElse(t *testing.T) {
	list := WhoElse([]Waker{{Thread: "feeder", Of: 0.6, Does: Works}, {Thread: "worker", Of: 0.3, Does: Beside}, {Thread: Kernel, Of: 0.1}})
	if len(list) != 2 || math.Abs(list[0].Of-6.0/7) > 1e-9 || math.Abs(list[1].Of-1.0/7) > 1e-9 {
		t.Errorf("%+v", list)
	}
	if list := WhoElse([]Waker{{Thread: "worker", Of: 1, Does: Beside}}); len(list) != 1 || list[0].Of != 1 {
		t.Errorf("%+v", list)
	}
	call := func(nr int, arg uint64) kernel.BlockedCall { return kernel.BlockedCall{NR: nr, Args: [6]uint64{arg}} }
	if futex := call(unix.SYS_FUTEX, 0x1000); !sameWait(futex, call(unix.SYS_FUTEX, 0x1004)) || sameWait(futex, call(unix.SYS_FUTEX, 0x1008)) ||
		sameWait(call(unix.SYS_READ, 8), call(unix.SYS_READ, 9)) {
		t.Error("other waits are told apart")
	}
}

// wakersAt is who ended the waits at a focus, in several processes together.
func wakersAt(f grid.Focus, all ...*Counts) []grid.Holder {
	var s Tally
	for _, c := range all {
		s.Add(c, f)
	}
	return s.Wakers()
}

// TestDraw: of threads that are always met in one order each is chosen as often, also where some are met less, and no more often than is wanted.
func TestDraw(t *testing.T) {
	chosen, all := map[int]int{}, 0
	var d draw
	for i := range 4000 {
		now := float64(i) * 0.01
		for tid := 7; tid > 0; tid-- {
			if tid == 3 && i%2 == 0 {
				continue
			}
			if d.falls(0.02, now) {
				chosen[tid]++
				all++
			}
		}
	}
	if all > 2000 || all < 1300 {
		t.Errorf("%d choices in 40 s", all)
	}
	for tid := 1; tid <= 7; tid++ {
		want := all / 7
		if tid == 3 {
			want /= 2
		}
		if n := chosen[tid]; n < want*7/10 || n > want*14/10 {
			t.Errorf("thread %d was chosen %d times, want about %d: %v", tid, n, want, chosen)
		}
	}
}
