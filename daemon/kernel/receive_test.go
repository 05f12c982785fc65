package kernel

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReceiveTimeout(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	for _, want := range []time.Duration{0, 200 * time.Millisecond, 3 * time.Second} {
		tv := unix.NsecToTimeval(want.Nanoseconds())
		if err := unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
			t.Fatal(err)
		}
		got, err := ReceiveTimeout(os.Getpid(), pair[0])
		if errors.As(err, new(*Unsupported)) {
			t.Skip(err)
		}
		if err != nil || got < want || got > want+20*time.Millisecond { // the kernel counts in ticks
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ReceiveTimeout(os.Getpid(), int(f.Fd())); err == nil {
		t.Error("a file has a timeout")
	}
	if _, err := ReceiveTimeout(os.Getpid(), 1<<20); err == nil {
		t.Error("a closed descriptor has a timeout")
	}
	if _, err := ReceiveTimeout(1<<22-1, 0); !errors.Is(err, ErrGone) {
		t.Errorf("no such process: %v", err)
	}
}
