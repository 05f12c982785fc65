package kernel

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestParentBehindAnyName(t *testing.T) {
	for text, want := range map[string]int{"17 (a) S 1 (b)) R 42 17 17 0": 42, "1 (systemd) S 0 1 1 0": 0, "9 (x) S -1 1": 0} {
		if got, ok := parentIn([]byte(text)); !ok || got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "17", "17 (a", "17 (a)", "17 (a) S", "17 (a) S "} {
		if got, ok := parentIn([]byte(text)); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestBirths: a process that begins is told of by the next call or the one after; threads are not; nothing is told when none begin.
func TestBirths(t *testing.T) {
	var b Births
	if first := b.Next(); !slices.ContainsFunc(first, func(p Parentage) bool { return p.PID == os.Getpid() && p.Parent == os.Getppid() }) {
		t.Fatalf("the first call does not list this process among %d", len(first))
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { child.Process.Kill(); child.Wait() }()
	isChild := func(p Parentage) bool { return p.PID == child.Process.Pid && p.Parent == os.Getpid() }
	if !slices.ContainsFunc(b.Next(), isChild) {
		t.Error("a child was not told of")
	}
	if p := target(t, "threads.c", "20", "100000"); p != nil {
		for range 2 {
			for _, x := range b.Next() {
				if tids, err := ListThreads(x.PID); err == nil && !slices.Contains(tids, x.PID) {
					t.Errorf("%d is a thread", x.PID)
				}
			}
		}
	}
}

// BenchmarkBirths is what it costs to ask when no process has begun.
func BenchmarkBirths(b *testing.B) {
	var births Births
	births.Next()
	time.Sleep(10 * time.Millisecond)
	for b.Loop() {
		births.Next()
	}
}
