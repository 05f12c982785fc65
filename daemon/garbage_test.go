package daemon

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGarbageIsCollectedWhenEnoughWasMade(t *testing.T) {
	const mib = 1 << 20
	for _, x := range []struct {
		what        string
		usual, rare int
		alive       uint64
		want        int
	}{
		{"of little: 96 MiB", 100, 0, 4 * mib, 2400},
		{"of more: 96 MiB still", 100, 0, 24 * mib, 400},
		{"of much: as usual", 100, 0, 300 * mib, 100},
		{"of much, while it is collected rarely", 100, 1, 300 * mib, rarely},
		{"of little, while it is collected rarely", 100, 1, 4 * mib, 2400},
		{"never, if the user wants it so", -1, 1, 4 * mib, -1},
	} {
		if got := (&collector{usual: x.usual, rare: x.rare}).percent(x.alive); got != x.want {
			t.Errorf("%s: %d %%, want %d", x.what, got, x.want)
		}
	}
}

// TestGarbageFollowsWhatIsAlive: the runtime's percentage falls when much is alive, and rises again when it is not.
func TestGarbageFollowsWhatIsAlive(t *testing.T) {
	c := garbage()
	state := func() (set, want int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.set, c.percent(alive())
	}
	settles := func(what string, ok func() bool) {
		t.Helper()
		for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			runtime.GC()
			set, want := state()
			if set == want && ok() {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("%s: %d %% are set, want %d with %d bytes alive", what, set, want, alive())
			}
		}
	}
	settles("at first", func() bool { return true })
	const much = 200 << 20
	keep := make([]byte, much)
	settles("with much alive", func() bool { set, _ := state(); return alive() >= much && set == c.usual })
	runtime.KeepAlive(keep)
	settles("when it is gone", func() bool { return alive() < much })
	if set, _ := state(); debug.SetGCPercent(set) != set {
		t.Error("the runtime goes by something else")
	}
}
