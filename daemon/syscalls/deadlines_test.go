package syscalls

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

func now() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it cannot fail
	return time.Duration(ts.Nano())
}

func open(t *testing.T) *Deadlines {
	t.Helper()
	require.Root(t)
	table, err := OpenDeadlines(NewTypes())
	if err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// waits has this thread wait in epoll_wait until something comes from a pipe.
func waits(t *testing.T, timeout time.Duration, wakeAfter time.Duration) (events int) {
	t.Helper()
	var pipe [2]int
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, pipe[0], &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		t.Fatal(err)
	}
	if wakeAfter > 0 {
		time.AfterFunc(wakeAfter, func() { _, _ = unix.Write(pipe[1], []byte{1}) })
	}
	for {
		n, err := unix.EpollWait(epoll, make([]unix.EpollEvent, 1), int(timeout.Milliseconds()))
		if err != unix.EINTR {
			return n
		}
	}
}

// TestEndOf: of a wait that is broken off it is known when it would have ended, and of no other.
func TestEndOf(t *testing.T) {
	table := open(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	if !table.Begin() {
		t.Fatal("the kernel does not look")
	}
	before := now()
	if waits(t, 30*time.Second, 20*time.Millisecond) != 1 {
		t.Fatal("nothing came")
	}
	after := now()
	end, ok := table.EndOf(tid, before)
	if wait := 30 * time.Second; !ok || end < before+wait || end > after+wait+time.Second {
		t.Errorf("it would have ended at %v (%v); begun at %v, woken up at %v", end, ok, before, after)
	}
	if _, ok := table.EndOf(tid, after); ok {
		t.Error("a wait that was broken off before is taken for a later one")
	}
	if _, ok := table.EndOf(tid+places, before); ok {
		t.Error("a thread that shares the place of another takes its time for its own")
	}
	if waits(t, -time.Millisecond, 20*time.Millisecond) != 1 {
		t.Fatal("nothing came")
	}
	if _, ok := table.EndOf(tid, after); ok {
		t.Error("a wait without an end has one")
	}
	if waits(t, 20*time.Millisecond, 0) != 0 {
		t.Fatal("something came")
	}
	if _, ok := table.EndOf(tid, after); ok {
		t.Error("a wait that ended by its time was broken off")
	}
	table.End()
}

// TestRests: the kernel looks around stops only.
func TestRests(t *testing.T) {
	table := open(t)
	looks := func() bool {
		table.mu.Lock()
		defer table.mu.Unlock()
		return table.link != nil
	}
	if looks() {
		t.Error("it looks before anybody asked")
	}
	for range 2 {
		if !table.Begin() || !looks() {
			t.Fatal("the kernel does not look")
		}
	}
	table.End()
	table.rest()
	if !looks() {
		t.Error("it rests while somebody needs it")
	}
	table.End()
	for deadline := time.Now().Add(10 * table.kept); looks(); time.Sleep(table.kept / 20) {
		if time.Now().After(deadline) {
			t.Fatal("it looks on and on")
		}
	}
	if !table.Begin() || !looks() {
		t.Error("it does not look again")
	}
	table.End()
}

func TestClosedKnowsNothing(t *testing.T) {
	table := open(t)
	if !table.Begin() {
		t.Fatal("the kernel does not look")
	}
	table.End()
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := table.EndOf(unix.Gettid(), 0); ok || table.Begin() {
		t.Error("it knows something")
	}
}
