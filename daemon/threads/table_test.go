package threads

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/grid"
)

// words is a memory of a few words of 32 bits.
type words map[process.Addr]uint32

func (m words) ReadMem(addr process.Addr, b []byte) error {
	v, ok := m[addr]
	if !ok || len(b) != 4 {
		return errors.New("nothing is there")
	}
	binary.LittleEndian.PutUint32(b, v)
	return nil
}

// newTable is the table of our own process, of whose threads it is told by hand.
func newTable(m Memory) *Table {
	return New(Config{PID: os.Getpid(), Name: "prog{1}", Tree: grid.NewTree(), Memory: m, IsSyscallFunction: never, IsGo: never})
}

func never(uint64) bool { return false }

// ran is the accounting of a thread that nobody has stopped.
func ran(tid int, start, slices uint64, run time.Duration) kernel.ThreadTimes {
	return kernel.ThreadTimes{PID: os.Getpid(), TID: tid, Start: start, Slices: slices, Run: run}
}

// TestComeAndGo: threads that begin, end, or get the number of another one.
func TestComeAndGo(t *testing.T) {
	tt := newTable(nil)
	tt.Update(1, []kernel.ThreadTimes{ran(7, 10, 0, 0), ran(8, 11, 0, 0)}, 0)
	if got := tt.TIDs(); !slices.Equal(got, []int{7, 8}) || tt.Changes() != 2 || tt.Refreshed() != 1 {
		t.Fatalf("threads %v, %d changes, refreshed at %g", got, tt.Changes(), tt.Refreshed())
	}
	tt.Began(7, 0x100, "worker")
	tt.Began(7, 0x200, "again")
	if got := tt.Roots(); !slices.Equal(got, []uint64{0x100}) || tt.Meets(7, 0) || !tt.Meets(8, 0) {
		t.Errorf("roots %v", got)
	}
	first, _ := tt.Get(7)
	if first.TakeBorn() {
		t.Error("a thread that was there at the first refresh counts as born")
	}
	tt.Update(2, []kernel.ThreadTimes{ran(8, 12, 0, time.Second), ran(9, 13, 0, 0)}, 0)
	if got := tt.TIDs(); !slices.Equal(got, []int{8, 9}) || tt.Changes() != 5 { // 8 is another thread now
		t.Errorf("threads %v, %d changes", got, tt.Changes())
	}
	tt.Each(func(r *Row) {
		if !r.TakeBorn() || r.TakeBorn() {
			t.Errorf("that thread %d was born is not told once", r.TID)
		}
	})
	if tt.Name(7) != "" || tt.Name(9) != "thr_9" || tt.Number("thr_9") != 9 || tt.Number("9") != 9 || tt.Number("thr_7") != 0 || !tt.Is(8, "8") {
		t.Errorf("names %q and %q", tt.Name(7), tt.Name(9))
	}
	if me := os.Getpid(); !tt.Has("9") || tt.Has("7") || tt.Has("worker") || !tt.Has(nameOf(me, me)) {
		t.Error("who has a thread that began since the last refresh, and only such, is not known")
	}
}

// TestRates: how often threads are woken and how long they ran is told as of two refreshes, without what our own stops did.
func TestRates(t *testing.T) {
	tt := newTable(nil)
	if tt.Ran() != 1 || tt.Active() != 0 || !tt.RunsLong() || tt.Switches() != 0 {
		t.Error("something is known before the first refresh")
	}
	tt.Update(1, []kernel.ThreadTimes{ran(7, 1, 0, 0), ran(8, 1, 0, 0)}, 0)
	tt.Update(101, []kernel.ThreadTimes{ran(7, 1, 50_000, 25*time.Second), ran(8, 1, slicesOfStop, runOfStop)}, 1)
	if got := tt.Ran(); math.Abs(got-0.25) > 1e-4 {
		t.Errorf("threads ran for %g of the time", got)
	}
	if got := tt.Switches(); math.Abs(got-500) > 1 {
		t.Errorf("%g switches a second", got)
	}
	if r, _ := tt.Get(8); r.wakes != 0 || r.quietSince != 0 {
		t.Errorf("a stop counts as work: %+v", r)
	}
	if r, _ := tt.Get(7); r.quietSince != 101 || r.OffCPU(100) != 75 || r.Active(100) != 1 {
		t.Errorf("%+v", r)
	}
	if tt.RunsLong() {
		t.Error("half a millisecond at a time is long")
	}
}

// TestShareOfLooks: what blocked threads do is told by the looks at them, the last ones if there was none since.
func TestShareOfLooks(t *testing.T) {
	for _, c := range []struct {
		looks   [nStates]int
		parked  bool
		waiting float64 // of 4 s, of which it ran for one
	}{{[nStates]int{}, false, 3}, {[nStates]int{}, true, 0}, {[nStates]int{1, 3, 0}, false, 3}, {[nStates]int{0, 1, 2}, true, 1}, {[nStates]int{0, 0, 2}, false, 0}} {
		tt := newTable(nil)
		tt.Update(1, []kernel.ThreadTimes{ran(7, 1, 0, 0)}, 0)
		tt.Update(5, []kernel.ThreadTimes{ran(7, 1, 1, time.Second)}, 0)
		tt.Each(func(r *Row) { r.looks, r.parked = c.looks, c.parked })
		for range 2 {
			tt.ShareLooks()
			if r, _ := tt.Get(7); math.Abs(r.Waiting(4)-c.waiting) > 1e-9 || math.Abs(tt.Active()-(1+c.waiting)/4) > 1e-9 {
				t.Errorf("%v: waits for %g s, %g threads are active", c.looks, r.Waiting(4), tt.Active())
			}
		}
		if tt.Parked()[7] != c.parked {
			t.Errorf("%v: parked %v", c.looks, tt.Parked())
		}
	}
}

// TestDisplaced: by how switches were counted; a thread that did not switch had its CPU taken.
func TestDisplaced(t *testing.T) {
	for _, c := range []struct {
		forced, voluntary uint64
		want              float64
	}{{0, 0, 1}, {1, 3, 0.25}, {0, 5, 0}, {2, 0, 1}} {
		r := Row{Times: kernel.ThreadTimes{Forced: 10 + c.forced, Voluntary: 20 + c.voluntary}, Prev: kernel.ThreadTimes{Forced: 10, Voluntary: 20}}
		if got := r.Displaced(); got != c.want {
			t.Errorf("%+v: %g", c, got)
		}
	}
}

// TestReadyAfterWait: of the time that a thread was ready only what followed a wait for something.
func TestReadyAfterWait(t *testing.T) {
	for _, c := range []struct {
		forced, voluntary uint64
		waits, idle       float64
		want              float64 // of 4 s in which it was ready
	}{{0, 4, 1, 0, 4}, {1, 3, 1, 0, 3}, {4, 0, 1, 0, 0}, {0, 4, 0, 1, 0}, {1, 3, 0.25, 0.75, 0.75}, {0, 4, 0, 0, 0}, {0, 0, 1, 0, 0}} {
		r := Row{Times: kernel.ThreadTimes{RunQueueWait: 5 * time.Second, Forced: c.forced, Voluntary: c.voluntary}, Prev: kernel.ThreadTimes{RunQueueWait: time.Second}}
		r.share[Waiting], r.share[Idle] = c.waits, c.idle
		if got := r.ReadyAfterWait(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}

// TestOwnerOf: of a thread pointer, also of one that is only in memory.
func TestOwnerOf(t *testing.T) {
	tt := newTable(words{0x1000 + 720: 7, 0x2000 + 720: 99})
	tt.Update(1, []kernel.ThreadTimes{ran(7, 1, 0, 0), ran(8, 1, 0, 0)}, 0)
	tt.Meets(8, 0x3000)
	if tt.OwnerOf(0x3000) != 8 || tt.OwnerOf(0x1000) != 0 {
		t.Error("owners are known that cannot be")
	}
	tt.tidOffset = 720
	for fs, want := range map[uint64]int{0x1000: 7, 0x2000: 0, 0x3000: 8, 0x4000: 0, 0: 0} {
		if got := tt.OwnerOf(fs); got != want {
			t.Errorf("%#x belongs to %d, want %d", fs, got, want)
		}
	}
}

// TestTIDsIn: a word that holds the tid in all control blocks.
func TestTIDsIn(t *testing.T) {
	block := func(tid uint32, at ...int) []byte {
		b := make([]byte, 64)
		for _, off := range at {
			binary.LittleEndian.PutUint32(b[off:], tid)
		}
		return b
	}
	first := tidsIn(block(4242, 8, 24, 60), 4242, nil)
	both := tidsIn(block(4243, 24, 32), 4243, first)
	if len(first) != 3 || len(both) != 1 || !both[24] {
		t.Errorf("%v, then %v", first, both)
	}
}

// TestShareOf: whose growth a block holds when threads follow one another on a thread pointer.
func TestShareOf(t *testing.T) {
	const fs, old, young = 0x1000, 7, 8
	me := os.Getpid()
	at := func(tid, start int) kernel.ThreadTimes { return ran(tid, uint64(start), 0, 0) }
	// begin has a table in which old has the thread pointer, at 1 s, of a process that lives at 2 s.
	begin := func(m words) *Table {
		tt := newTable(m)
		tt.tidOffset = 720
		tt.Update(1, []kernel.ThreadTimes{at(old, 1), at(me, 1)}, 0)
		tt.Meets(old, fs)
		tt.Meets(me, 0x9000)
		return tt
	}
	free := words{fs + 720: 0}
	t.Run("it lives", func(t *testing.T) {
		tt := begin(free)
		tt.Update(2, []kernel.ThreadTimes{at(old, 1), at(me, 1)}, 0)
		if s := tt.ShareOf(fs, old, 2, false, false); s.Of == nil || s.Of.TID != old || s.After || !s.Sure("thr_7") || s.Sure("thr_8") || !s.Covers("7") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("it has ended", func(t *testing.T) {
		tt := begin(free)
		tt.Update(2, []kernel.ThreadTimes{at(me, 1)}, 0)
		if s := tt.ShareOf(fs, 0, 2, true, false); s.Of == nil || s.Of.TID != old {
			t.Errorf("calm: %+v", s)
		}
		if s := tt.ShareOf(fs, 0, 2, false, false); s.Of != nil || !s.Covers("thr_7") {
			t.Errorf("others came and went: %+v", s)
		}
		tt.ForgetLeft()
		if s := tt.ShareOf(fs, 0, 2, true, false); s != (Share{}) {
			t.Errorf("when all was told: %+v", s)
		}
	})
	t.Run("another has begun since", func(t *testing.T) {
		tt := begin(words{fs + 720: young})
		tt.Update(2, []kernel.ThreadTimes{at(me, 1)}, 0)
		if s := tt.ShareOf(fs, 0, 2, true, false); s.Of != nil || !s.Covers("thr_7") {
			t.Errorf("%+v", s)
		}
		if s := tt.ShareOf(fs, 0, 2, true, true); s.Of == nil || s.Of.TID != old {
			t.Errorf("of a process that has ended: %+v", s)
		}
	})
	t.Run("another has it", func(t *testing.T) {
		tt := begin(words{fs + 720: young})
		tt.Update(2, []kernel.ThreadTimes{at(young, 2), at(me, 1)}, 0)
		tt.OwnerOf(fs)
		if s := tt.ShareOf(fs, young, 2, true, false); s.Of != nil || !s.Covers("thr_7") || !s.Covers("thr_8") || s.Covers("thr_9") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a new one", func(t *testing.T) {
		tt := begin(free)
		tt.Update(2, []kernel.ThreadTimes{at(old, 1), at(young, 2), at(me, 1)}, 0)
		tt.Meets(young, 0x2000)
		if s := tt.ShareOf(0x2000, young, 2, true, false); s.Of == nil || s.After {
			t.Errorf("calm: %+v", s)
		}
		if s := tt.ShareOf(0x2000, young, 2, false, false); s.Of == nil || !s.After {
			t.Errorf("others came and went: %+v", s)
		}
	})
	t.Run("ended since the refresh", func(t *testing.T) {
		tt := begin(free)
		if s := tt.ShareOf(fs, old, 1.5, false, false); s.Of != nil || !s.Covers("thr_7") { // no process has a thread 7 of ours
			t.Errorf("%+v", s)
		}
		if s := tt.ShareOf(0x9000, me, 1.5, false, false); s.Of == nil || s.Of.TID != me {
			t.Errorf("one that lives: %+v", s)
		}
	})
}

// TestIdles: which waits have nothing to do, by the call, by how long the thread did not run and how often it is woken.
func TestIdles(t *testing.T) {
	futex := func(op uint64) kernel.BlockedCall {
		return kernel.BlockedCall{NR: unix.SYS_FUTEX, Args: [6]uint64{0x1000, op}}
	}
	call := func(nr int) kernel.BlockedCall { return kernel.BlockedCall{NR: nr} }
	for _, c := range []struct {
		name                string
		call                kernel.BlockedCall
		busy, quiet, seldom bool // woken all the time; not for a second; now and then
	}{
		{"poll", call(unix.SYS_POLL), true, true, true},
		{"a mutex", futex(futexWait | 128), false, false, false},
		{"a mutex with a priority", futex(futexLockPI | 128), false, false, false},
		{"a condition", futex(9 | 256), false, true, true},
		{"a semaphore", call(unix.SYS_SEMOP), false, true, true},
		{"read", call(unix.SYS_READ), false, true, false},
		{"a page fault", call(-1), false, true, false},
		{"write", call(unix.SYS_WRITE), false, false, false},
		{"the lock of a file", call(unix.SYS_FLOCK), false, false, false},
		{"the lock of a part of a file", call(unix.SYS_FCNTL), false, false, false},
	} {
		if got := [3]bool{idles(c.call, 0, 1000), idles(c.call, ParkAfter, 1000), idles(c.call, 0, rareWakes/2)}; got != [3]bool{c.busy, c.quiet, c.seldom} {
			t.Errorf("%s: idle %v when it is woken all the time, for a second not, now and then", c.name, got)
		}
	}
}

// TestIdleFor: what a thread waits for that has nothing to do is known by its call, also where one in poll or select waits for no descriptor.
func TestIdleFor(t *testing.T) {
	for _, c := range []struct {
		nr            int
		first, second uint64
		want          grid.IdleFor
	}{
		{unix.SYS_CLOCK_NANOSLEEP, 0, 0, grid.ForTime}, {unix.SYS_POLL, 0x1000, 0, grid.ForTime}, {unix.SYS_POLL, 0x1000, 2, grid.ForInput},
		{unix.SYS_SELECT, 0, 0x1000, grid.ForTime}, {unix.SYS_PSELECT6, 4, 0x1000, grid.ForInput}, {unix.SYS_EPOLL_WAIT, 3, 0, grid.ForInput},
		{unix.SYS_ACCEPT4, 3, 0, grid.ForInput}, {unix.SYS_READ, 0, 0x1000, grid.ForInput}, {unix.SYS_WAIT4, 7, 0, grid.ForChild},
		{unix.SYS_FUTEX, 0x1000, futexWaitBitset, grid.ForThreads}, {unix.SYS_MSGRCV, 1, 0, grid.ForThreads}, {unix.SYS_PAUSE, 0, 0, grid.ForSignal},
		{-1, 0, 0, ""}, {unix.SYS_IO_URING_ENTER, 3, 0, ""},
	} {
		if got := IdleFor(kernel.BlockedCall{NR: c.nr, Args: [6]uint64{c.first, c.second}}); got != c.want {
			t.Errorf("call %d(%#x, %#x): %q, want %q", c.nr, c.first, c.second, got, c.want)
		}
	}
}

// TestAwaitsWork: who waits for an event, for input or for room waits for all that another one does; who waits for a lock, a device or time does not.
func TestAwaitsWork(t *testing.T) {
	for _, c := range []struct {
		name string
		call kernel.BlockedCall
		want bool
	}{
		{"condition variable", kernel.BlockedCall{NR: unix.SYS_FUTEX, Args: [6]uint64{1: 0x189}}, true},
		{"input", kernel.BlockedCall{NR: unix.SYS_READ}, true},
		{"answer", kernel.BlockedCall{NR: unix.SYS_RECVFROM}, true},
		{"room", kernel.BlockedCall{NR: unix.SYS_WRITE}, true},
		{"mutex", kernel.BlockedCall{NR: unix.SYS_FUTEX, Args: [6]uint64{1: 0x80}}, false},
		{"disk", kernel.BlockedCall{NR: unix.SYS_FSYNC}, false},
		{"time", kernel.BlockedCall{NR: unix.SYS_NANOSLEEP}, false},
	} {
		if got := AwaitsWork(c.call); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestHalted: a thread that is stopped, or whose process is frozen, waits for nothing of its own.
func TestHalted(t *testing.T) {
	tt := newTable(nil)
	tt.Update(1, []kernel.ThreadTimes{ran(7, 1, 0, 0)}, 0)
	lock := kernel.BlockedCall{NR: unix.SYS_FUTEX, Args: [6]uint64{1: 0x80}}
	for _, frozen := range []bool{false, true, false} {
		tt.SetFrozen(frozen)
		state := tt.stateOf(7, lock, false, 1.1)
		if tt.Halted(7) != frozen || tt.Halted(8) || (state == Idle) != frozen {
			t.Errorf("frozen %v: halted %v, state %v", frozen, tt.Halted(7), state)
		}
	}
}

// TestRuns: a thread that waits for a CPU most of the time for which it is ready is delayed and does not run, one that shares it runs.
func TestRuns(t *testing.T) {
	for _, c := range []struct {
		run, ready time.Duration
		want       bool
		delayed    bool
	}{{time.Second, 0, true, false}, {time.Second, 2 * time.Second, true, true}, {10 * time.Millisecond, time.Second, false, true},
		{500 * time.Millisecond, 0, false, false}, {0, 0, false, false}} {
		tt := newTable(nil)
		tt.Update(1, []kernel.ThreadTimes{ran(7, 1, 0, 0)}, 0)
		after := ran(7, 1, 1, c.run)
		after.RunQueueWait = c.ready
		tt.Update(5, []kernel.ThreadTimes{after}, 0)
		if busy := c.run+c.ready >= 3*time.Second; tt.IsBusy(7) != busy || tt.IsBusy(8) {
			t.Errorf("%v of 4 s ready: busy %v", c.run+c.ready, !busy)
		}
		if runs, delayed := tt.Runs(7), tt.Delayed(7); runs != c.want || delayed != c.delayed || tt.Runs(8) || tt.Delayed(8) {
			t.Errorf("%v of %v ready: runs %v, delayed %v", c.run, c.run+c.ready, runs, delayed)
		}
	}
}

// TestAsMade: a wait that a stop has broken into stays what it was; of one that was not seen before only a condition variable is known.
func TestAsMade(t *testing.T) {
	tab := New(Config{})
	tab.rows[7] = &Row{TID: 7}
	poll := kernel.BlockedCall{NR: unix.SYS_POLL, Args: [6]uint64{0x7000, 3, 500}, SP: 0x10, PC: 0x20}
	cond := kernel.BlockedCall{NR: unix.SYS_FUTEX, Args: [6]uint64{0x8000, 0x189}, SP: 0x30, PC: 0x40}
	again := func(c kernel.BlockedCall) kernel.BlockedCall {
		c.NR = unix.SYS_RESTART_SYSCALL
		return c
	}
	for _, c := range []struct {
		sees kernel.BlockedCall
		want int
	}{
		{again(poll), unix.SYS_RESTART_SYSCALL}, {poll, unix.SYS_POLL}, {again(poll), unix.SYS_POLL}, {kernel.BlockedCall{Running: true}, 0}, {again(poll), unix.SYS_POLL},
		{again(cond), unix.SYS_FUTEX}, {cond, unix.SYS_FUTEX}, {again(poll), unix.SYS_RESTART_SYSCALL}, {again(cond), unix.SYS_FUTEX},
	} {
		if got := tab.asMade(7, c.sees); got.NR != c.want {
			t.Errorf("%+v is call %d, expected %d", c.sees, got.NR, c.want)
		}
	}
	if got := tab.asMade(8, again(poll)); got.NR != unix.SYS_RESTART_SYSCALL {
		t.Errorf("of a thread that is not known: %d", got.NR)
	}
}

// TestWanted: CPUs that threads ran on and those that they waited for count alike.
func TestWanted(t *testing.T) {
	table := New(Config{Tree: grid.NewTree()})
	if got := table.Wanted(); got != 0 {
		t.Errorf("before anything is known: %g", got)
	}
	table.Update(1, []kernel.ThreadTimes{{TID: 1, Start: 1}, {TID: 2, Start: 1}}, 0)
	table.Update(3, []kernel.ThreadTimes{{TID: 1, Start: 1, Run: 2 * time.Second}, {TID: 2, Start: 1, Run: time.Second / 2, RunQueueWait: time.Second / 2}}, 0)
	if ran, wanted := table.Ran(), table.Wanted(); math.Abs(ran-1.25) > 1e-9 || math.Abs(wanted-1.5) > 1e-9 {
		t.Errorf("ran %g, wanted %g", ran, wanted)
	}
}

// TestLookAtNew: a thread that sleeps with nothing to do is not active from its first interval on, also where the regular looks have not come to it. No
// more threads are looked at than are asked for.
func TestLookAtNew(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	pid := c.Process.Pid
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if call, err := kernel.Blocked(pid, pid); err == nil && !call.Running && call.NR == unix.SYS_CLOCK_NANOSLEEP {
			break
		}
		if time.Now().After(until) {
			t.Fatal("it does not sleep")
		}
	}
	tt := New(Config{PID: pid, Name: "sleep{1}", Tree: grid.NewTree(), IsSyscallFunction: never, IsGo: never})
	active := func(most int) (n float64) {
		tt.LookAtNew(2, most)
		tt.ShareLooks()
		tt.Each(func(r *Row) { n = r.Active(1) })
		return n
	}
	times := []kernel.ThreadTimes{{PID: pid, TID: pid, Start: 10, State: 'S'}}
	tt.Update(1, times, 0)
	tt.Update(2, times, 0)
	if got := active(0); got != 1 {
		t.Errorf("active for %g of the time before anybody looked", got)
	}
	if got := active(1); got != 0 {
		t.Errorf("active for %g of the time after a look", got)
	}
}

// TestThreadsOfGo: a thread that waits in Go's own code for a goroutine to run has nothing to do, however often it is woken; one that waits for a file has.
func TestThreadsOfGo(t *testing.T) {
	tt := newTable(nil)
	tt.cfg.IsGo = func(pc uint64) bool { return pc < 0x1000 }
	tt.Update(1, []kernel.ThreadTimes{ran(7, 10, 0, 0)}, 0)
	for _, c := range []struct {
		nr   int
		pc   uint64
		want State
	}{
		{unix.SYS_FUTEX, 0x10, Idle}, {unix.SYS_FUTEX, 0x2000, Waiting}, {unix.SYS_EPOLL_PWAIT, 0x10, Idle}, {unix.SYS_FSYNC, 0x10, Waiting},
	} {
		if got := tt.stateOf(7, kernel.BlockedCall{NR: c.nr, PC: c.pc}, c.nr == unix.SYS_EPOLL_PWAIT, 1); got != c.want {
			t.Errorf("in call %d at %#x: %d, want %d", c.nr, c.pc, got, c.want)
		}
	}
}
