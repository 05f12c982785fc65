package kernel

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// counting begins to count an event of this thread, or skips where that is not permitted.
func counting(t *testing.T, tid int, name string) *EventCount {
	t.Helper()
	c, err := CountEvent(unix.Getpid(), tid, name)
	if errors.As(err, new(*NotPermitted)) {
		require.Skipf(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func value(t *testing.T, c *EventCount) float64 {
	t.Helper()
	v, err := c.Value()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// touch touches pages for the first time.
func touch(t *testing.T, pages int) {
	mem, err := unix.Mmap(-1, 0, pages<<12, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	unix.Madvise(mem, unix.MADV_NOHUGEPAGE)
	for i := range pages {
		mem[i<<12] = 1
	}
}

// TestCountEvent: a thread's count has what the thread did, that of the process what all did, those among them that came later.
func TestCountEvent(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mine, all := counting(t, unix.Gettid(), "page-faults"), counting(t, 0, "page-faults")
	touch(t, 1000)
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // ends with its thread
		touch(t, 2000)
		close(done)
	}()
	<-done
	m, a := value(t, mine), value(t, all)
	t.Logf("%v page faults of the thread, %v of the process", m, a)
	if m < 1000 || m > 1900 || a < 3000 || a > 10_000 {
		t.Error("1,000 and 3,000 pages were touched for the first time")
	}
}

// TestHardwareEvents: a machine that counts instructions has counted some; another one says what is missing.
func TestHardwareEvents(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range []string{"instructions", "L1-dcache-load-misses", "r0c0"} {
		c, err := CountEvent(unix.Getpid(), unix.Gettid(), name)
		var lacks *Unsupported
		switch {
		case errors.As(err, &lacks):
			t.Log(err)
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			touch(t, 10)
			if v := value(t, c); v <= 0 {
				t.Errorf("%s: %v", name, v)
			}
			c.Close()
		}
		if missing := EventMissing(name); (missing == nil) != (err == nil) {
			t.Errorf("%s: missing: %v, but counting it: %v", name, missing, err)
		}
	}
}

func TestNoSuchEvent(t *testing.T) {
	for _, name := range []string{"", "instruction", "r", "rxyz", "r0123456789abcdef0"} {
		if c, err := CountEvent(unix.Getpid(), 0, name); err == nil {
			c.Close()
			t.Errorf("%q is counted", name)
		}
	}
	if _, err := CountEvent(4194999, 0, "page-faults"); !errors.Is(err, ErrGone) {
		t.Errorf("of no process: %v", err)
	}
}
