package syscalls

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// random has the kernel fill b; unix.Getrandom may do so without it.
func random(b []byte) error {
	n, _, e := unix.RawSyscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0)
	if e != 0 || int(n) != len(b) {
		return fmt.Errorf("%d bytes, %v", n, e)
	}
	return nil
}

// lookingAtUs has the kernel look at this process.
func lookingAtUs(t *testing.T) *Transfers {
	t.Helper()
	require.Root(t)
	moves, err := OpenTransfers(NewTypes())
	if err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() { moves.Close() })
	if !moves.Begin(os.Getpid()) {
		t.Fatal("the kernel does not look")
	}
	t.Cleanup(func() { moves.End(os.Getpid()) })
	return moves
}

// TestMovedAt: a thread is known to move data by calls that a signal would cut, if the piece is large, and by no others.
func TestMovedAt(t *testing.T) {
	moves := lookingAtUs(t)
	if moves.Begin(os.Getpid()) {
		t.Error("it looks twice at one process")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	open := func(path string) int {
		fd, err := unix.Open(path, unix.O_RDWR, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	null, zero := open("/dev/null"), open("/dev/zero")
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	file, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	defer file.Close()
	large, small := make([]byte, LargePiece), make([]byte, LargePiece-1)
	say := func(n int, err error) error {
		if n < len(small) {
			return fmt.Errorf("%d bytes, %v", n, err)
		}
		return err
	}
	fill := func() { must(t, say(unix.Write(pair[0], large))) }
	for _, c := range []struct {
		name  string
		moves bool
		do    func() error
	}{
		{"write", true, func() error { return say(unix.Write(null, large)) }},
		{"small write", false, func() error { return say(unix.Write(null, small)) }},
		{"write to a file", true, func() error { return say(file.Write(large)) }},
		{"read of a file", false, func() error { return say(unix.Pread(int(file.Fd()), large, 0)) }},
		{"read of a device", true, func() error { return say(unix.Read(zero, large)) }},
		{"random", true, func() error { return random(large) }},
		{"sent", true, func() error { return unix.Sendto(pair[0], large, 0, nil) }},
		{"received as it comes", false, func() error { n, _, err := unix.Recvfrom(pair[1], large, 0); return say(n, err) }},
		{"received in whole", true, func() error { fill(); n, _, err := unix.Recvfrom(pair[1], large, unix.MSG_WAITALL); return say(n, err) }},
	} {
		began := now()
		var err error
		for range 100 { // the runtime of Go sends its threads signals, which cut calls
			if err = c.do(); err == nil {
				break
			}
		}
		must(t, err)
		at, known := moves.MovedAt(unix.Gettid())
		if moved := known && at >= began; moved != c.moves {
			t.Errorf("%s: moved is %v", c.name, moved)
		}
	}
}

// TestHoldCaught: a program that catches the signals gets none.
func TestHoldCaught(t *testing.T) {
	moves := lookingAtUs(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	moves.Hold(unix.Gettid())
	for range 100 { // a signal of Go's own runtime cuts it
		if random(make([]byte, LargePiece)) == nil {
			break
		}
	}
	if moves.Forget(unix.Gettid()) {
		t.Error("this program catches all signals, and one was sent to it")
	}
}

// TestSleepers: the registers of a thread that sleeps in a call are the ones that the kernel says elsewhere.
func TestSleepers(t *testing.T) {
	moves := lookingAtUs(t)
	var ends [2]int
	must(t, unix.Pipe(ends[:]))
	tid := make(chan int)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine
		tid <- unix.Gettid()
		_, _ = unix.Read(ends[0], make([]byte, 8))
		close(tid)
	}()
	sleeps := <-tid
	var nr, fd, sp, pc uint64
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", sleeps))
		var ignored [5]uint64
		if n, _ := fmt.Sscan(string(text), &nr, &fd, &ignored[0], &ignored[1], &ignored[2], &ignored[3], &ignored[4], &sp, &pc); n == 9 && nr == unix.SYS_READ && int(fd) == ends[0] {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("the thread does not sleep: %q", text)
		}
	}
	asleep, err := moves.Sleepers(os.Getpid())
	must(t, err)
	if r := asleep[sleeps].Regs; r.Orig_rax != nr || r.Rdi != fd || r.Rsp != sp || r.Rip != pc || r.Fs_base == 0 {
		t.Errorf("%+v, want call %d of %d at %#x, stack pointer %#x", r, nr, fd, pc, sp)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if r, told := asleep[unix.Gettid()]; told {
		t.Errorf("it is told of this thread, which runs: %+v", r)
	}
	if others, err := moves.Sleepers(os.Getppid()); err != nil || len(others) == 0 || others[sleeps].Regs.Rip != 0 {
		t.Errorf("of another process: %v, %v", others, err)
	}
	must(t, unix.Close(ends[1]))
	<-tid
	must(t, unix.Close(ends[0]))
	moves.Close()
	if _, err := moves.Sleepers(os.Getpid()); err == nil {
		t.Error("the kernel was asked after the end")
	}
}

// TestOnTheWayBack: a thread that has to wait for a CPU where its call is over, but that is not back in the program yet, is not told of as one that is
// within the call.
func TestOnTheWayBack(t *testing.T) {
	moves := lookingAtUs(t)
	p := testprog.Start(t, testprog.Build(t, "daemon/syscalls/testdata/ppids.c"))
	p.Expect(t, "READY", 10*time.Second)
	const walks = 500
	told := 0
	for range walks {
		asleep, err := moves.Sleepers(p.PID)
		must(t, err)
		for _, is := range asleep {
			if is.Regs.Orig_rax == unix.SYS_GETPPID {
				told++
			}
		}
		time.Sleep(time.Millisecond)
	}
	if told > walks/100 { // of the call itself they are off their CPU for less than a thousandth of the time
		t.Errorf("told %d times in %d walks that a thread is within a call which waits for nothing", told, walks)
	}
}

// TestHoldsAtOnePlace: of threads with the same place, the one that is held first stays so.
func TestHoldsAtOnePlace(t *testing.T) {
	moves := lookingAtUs(t)
	const a, b = 1<<22 + 5, 1<<22 + 5 + places
	for range 2 {
		if !moves.Hold(a) || moves.Hold(b) {
			t.Error("the place belongs to the first")
		}
	}
	if moves.Forget(a) || !moves.Hold(b) || moves.Forget(b) {
		t.Error("the place was taken away")
	}
}
