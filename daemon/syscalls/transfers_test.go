package syscalls

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
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
