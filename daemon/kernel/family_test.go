package kernel

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPassing: a process that began and ended is noticed; on a machine on which nobody does, nothing is. One that lives is nothing.
func TestPassing(t *testing.T) {
	var p Passing
	defer p.Close()
	if !p.Any() {
		t.Error("before the first mark it cannot be told")
	}
	p.Mark()
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
	if !p.Any() {
		t.Error("a process came and went unnoticed")
	}
	for end := time.Now().Add(20 * time.Second); ; {
		p.Mark()
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		passed := p.Any()
		child.Process.Kill()
		child.Wait()
		if !passed {
			return
		}
		if time.Now().After(end) {
			t.Fatal("in 20 s there was no moment without a process that came and went")
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

// TestMemorySize: what a process maps is what its mappings sum up to, and there is none of a process that is not there.
func TestMemorySize(t *testing.T) {
	before, err := MemorySize(os.Getpid())
	if err != nil || before < 1<<20 {
		t.Fatalf("%d, %v", before, err)
	}
	const more = 64 << 20
	mem, err := unix.Mmap(-1, 0, more, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if after, err := MemorySize(os.Getpid()); err != nil || after < before+more {
		t.Errorf("%d, and %d after %d more; %v", before, after, more, err)
	}
	if _, err := MemorySize(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("of no process: %v", err)
	}
}

// TestResidentMemory: what is mapped is not in memory before it is touched.
func TestResidentMemory(t *testing.T) {
	const more = 64 << 20
	mem, err := unix.Mmap(-1, 0, more, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	before, err := ResidentMemory(os.Getpid())
	if err != nil || before < 1<<20 {
		t.Fatalf("%d, %v", before, err)
	}
	for i := 0; i < len(mem); i += 4096 {
		mem[i] = 1
	}
	after, err := ResidentMemory(os.Getpid())
	if grown := int64(after - before); err != nil || grown < more*9/10 || grown > more*11/10+8<<20 {
		t.Errorf("%d, and %d after %d more were touched; %v", before, after, more, err)
	}
	if _, err := ResidentMemory(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("of no process: %v", err)
	}
}

// TestTableListsNewThreads: threads that begin and end between two readings are seen, though the directory is read only if it may
// have changed.
func TestTableListsNewThreads(t *testing.T) {
	p := target(t, "churn.c")
	table := NewThreadTable()
	defer table.Close()
	p.Say(t, "go")
	seen := map[int]bool{}
	for range 50 {
		rows, err := table.Refresh(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			seen[r.TID] = true
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%d threads were seen", len(seen))
	if len(seen) < 20 {
		t.Errorf("%d threads were seen", len(seen))
	}
}

// TestOwnThreadTime: it grows by what the thread computes, and not while it sleeps.
func TestOwnThreadTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := OwnThreadTime()
	time.Sleep(50 * time.Millisecond)
	slept := OwnThreadTime() - before
	for OwnThreadTime()-before < 20*time.Millisecond {
	}
	if slept > 20*time.Millisecond || before == 0 {
		t.Errorf("%v while it slept, from %v", slept, before)
	}
}
