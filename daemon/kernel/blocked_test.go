package kernel

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseSyscall(t *testing.T) {
	for _, c := range []struct {
		text string
		want BlockedCall
		ok   bool
	}{
		{"running\n", BlockedCall{Running: true, NR: -1}, true},
		{"-1 0x7ffd50495058 0x7f9bd50d42ad\n", BlockedCall{NR: -1, SP: 0x7ffd50495058, PC: 0x7f9bd50d42ad}, true},
		{"202 0x1 0x80 0x2 0x0 0x0 0xffffffffffffffff 0x7ffd 0x7f9b\n",
			BlockedCall{NR: 202, Args: [6]uint64{1, 0x80, 2, 0, 0, ^uint64(0)}, SP: 0x7ffd, PC: 0x7f9b}, true},
		{"", BlockedCall{}, false},
		{"runs", BlockedCall{}, false},
		{"3 0x1 0x2", BlockedCall{}, false},
		{"-2 0x1 0x2", BlockedCall{}, false},
		{"-1 0x1 0x10000000000000000", BlockedCall{}, false},
		{"x 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f9b", BlockedCall{}, false},
		{"202 0x1 0x80 0x2 0x0 0x0 0x7ffd 0x7f9b", BlockedCall{}, false},
	} {
		if got, ok := parseSyscall([]byte(c.text)); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v %v, want %+v %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParseSyscall(f *testing.F) {
	f.Add([]byte("running\n"))
	f.Add([]byte("202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f9b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		call, ok := parseSyscall(text)
		if !ok && call != (BlockedCall{}) {
			t.Errorf("refused, but returned %+v", call)
		}
	})
}

// blockedIn waits until some thread of the process is blocked in the system call.
func blockedIn(t *testing.T, pid int, nr int) (tid int, call BlockedCall) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		tids, err := ListThreads(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if call, err := Blocked(pid, tid); err == nil && !call.Running && call.NR == nr {
				return tid, call
			}
		}
	}
	t.Fatalf("no thread of %d was ever blocked in system call %d", pid, nr)
	return 0, BlockedCall{}
}

func TestBlockedInPipeRead(t *testing.T) {
	p := target(t, "piperead.c", "200000")
	tid, call := blockedIn(t, p.PID, unix.SYS_READ)
	if tid == p.PID || call.Args[2] != 8 || call.SP == 0 || call.PC == 0 {
		t.Errorf("thread %d: %+v", tid, call)
	}
	fd, err := FDTarget(p.PID, int(call.Args[0]))
	if err != nil || fd.Kind != FDPipe || fd.Inode == 0 {
		t.Errorf("it reads %+v, %v", fd, err)
	}
}

func TestBlockedInFutex(t *testing.T) {
	p := target(t, "mutex.c")
	if _, call := blockedIn(t, p.PID, unix.SYS_FUTEX); call.Args[0] == 0 {
		t.Errorf("%+v", call)
	}
}

func TestRunningThreadIsNotBlocked(t *testing.T) {
	p := target(t, "cpu.c")
	running := 0
	for range 50 {
		call, err := Blocked(p.PID, p.PID)
		if err != nil {
			t.Fatal(err)
		}
		if call.Running {
			running++
		}
		time.Sleep(time.Millisecond)
	}
	if running < 40 {
		t.Errorf("a spinning thread was seen running only %d times of 50", running)
	}
}
