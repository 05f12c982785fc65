package locks

import (
	"fmt"
	"slices"
	"testing"

	"culprit/daemon/libc"
	"culprit/grid"
)

// variables has the locks of a program that are variables, by futex word.
type variables map[uint64]string

func (v variables) lock(word uint64, _ libc.Wait) (uint64, string) { return word, v[word] }

func thread(word uint64) (uint64, string) { return word - 720, fmt.Sprintf("thr_%d", word) }

func newTable(v variables) (*Table, *grid.Tree) {
	tree := grid.NewTree()
	return New(tree, Names{Lock: v.lock, Thread: thread}), tree
}

var (
	mutex = libc.Wait{Kind: "Mutex"}
	futex = libc.Wait{Kind: libc.Futex}
)

// wait is a wait in a function, for a lock that the functions on the stack call by a name.
func wait(word uint64, k libc.Wait, held string) Wait {
	return Wait{Word: word, Kind: k, User: "work", HeldBy: func(uint64) string { return held }}
}

// TestNames: a lock is called by its variable, by what it lies in, or by its address and who waits for it.
func TestNames(t *testing.T) {
	tt, tree := newTable(variables{0x10: "cache_lock"})
	for _, c := range []struct {
		wait Wait
		want string
		addr uint64
	}{
		{wait(0x10, mutex, ""), "SyncObject/Mutex/cache_lock", 0x10},
		{wait(0x20, mutex, "Queue.lock 0x20"), "SyncObject/Mutex/Queue.lock 0x20", 0x20},
		{wait(0x30, mutex, ""), "SyncObject/Mutex/0x30 (work)", 0x30},
		{Wait{Word: 0x40, Kind: mutex, HeldBy: func(uint64) string { return "" }}, "SyncObject/Mutex/0x40", 0x40},
		{wait(0x1000, libc.Wait{Kind: libc.Thread}, ""), "SyncObject/Thread/thr_4096", 0x1000 - 720},
	} {
		for range 2 {
			if got := tt.Waited(c.wait, 1); got != c.want {
				t.Errorf("%#x is %q, want %q", c.wait.Word, got, c.want)
			}
		}
		kind, name := split(c.want)
		if addr, ok := tt.Address(kind, name); !ok || addr != c.addr || !tree.Live(grid.SyncObject, kind, name) || !tt.IsKnown(c.addr) {
			t.Errorf("%s stands for %#x, %v", c.want, addr, ok)
		}
	}
	if _, ok := tt.Address("Mutex", "nobody's"); ok || tt.IsKnown(0x50) || tt.HasEnded("Mutex", "cache_lock") {
		t.Error("what nobody waited for is known")
	}
}

// TestLibraryLocks: a lock of the C library is called by what it guards, or by the function that the program has called, and never by its address
// alone; those that guard the same have numbers, and each keeps its own.
func TestLibraryLocks(t *testing.T) {
	tt, tree := newTable(nil)
	library := libc.Wait{Kind: libc.Library}
	for _, c := range []struct {
		word       uint64
		held, want string
	}{
		{0x10, "malloc arena", "malloc arena"}, {0x20, "malloc arena", "malloc arena 2"}, {0x30, "", "work"}, {0x40, "", "work 2"},
		{0x20, "malloc arena", "malloc arena 2"}, {0x10, "malloc arena", "malloc arena"},
	} {
		for at := range 5 {
			if got := tt.Waited(wait(c.word, library, c.held), float64(at)); got != Part(libc.Library, c.want) {
				t.Errorf("%#x is %q, want %q", c.word, got, c.want)
			}
		}
	}
	if n := len(tree.Children(grid.SyncObject, libc.Library)); n != 4 || tt.WantsNames() {
		t.Errorf("%d locks; better names are looked for: %v", n, tt.WantsNames())
	}
	other := wait(0x30, library, "")
	other.User = "getpwnam"
	for at := range 5 {
		if got := tt.Waited(other, 10+float64(at)); got != Part(libc.Library, "work") {
			t.Errorf("waited for in another function it is %q", got)
		}
	}
	for at := range sightings {
		tt.Waited(wait(0x30, library, "time zone"), 20+float64(at))
	}
	if got := tt.Waited(wait(0x30, library, "time zone"), 30); got != Part(libc.Library, "time zone") {
		t.Errorf("when it is known what it guards it is %q", got)
	}
	for i := range uint64(2 * mostAlike) {
		tt.Waited(wait(0x1000+i*16, library, "stdio stream"), 40)
	}
	if n := len(tree.Children(grid.SyncObject, libc.Library)); n != 4+2*mostAlike {
		t.Errorf("%d locks after many of one name", n)
	}
}

// TestFutexIsSeenTwice: what a stack tells nothing of has no name until it was seen twice, and another when a stack tells more.
func TestFutexIsSeenTwice(t *testing.T) {
	tt, tree := newTable(nil)
	if got := tt.Waited(wait(0x10, futex, ""), 1); got != "" {
		t.Fatalf("seen once it is %q", got)
	}
	bare := "0x10 (work)"
	if got := tt.Waited(wait(0x10, futex, ""), 1); got != Part(libc.Futex, bare) {
		t.Fatalf("seen twice it is %q", got)
	}
	if got := tt.Waited(wait(0x10, mutex, ""), 1); got != Part("Mutex", bare) || tree.Live(grid.SyncObject, libc.Futex, bare) || !tree.Live(grid.SyncObject, "Mutex", bare) {
		t.Errorf("seen as a mutex it is %q", got)
	}
	if got := tt.Waited(wait(0x10, futex, ""), 1); got != Part("Mutex", bare) {
		t.Errorf("seen as a futex again it is %q", got)
	}
}

// TestBetterNames: a lock that only its address names gets a better one at a stop, and is known by both; it is looked for three times.
func TestBetterNames(t *testing.T) {
	tt, tree := newTable(variables{0x10: "cache_lock"})
	tt.Waited(wait(0x10, mutex, ""), 1)
	if tt.WantsNames() {
		t.Error("a variable wants a name")
	}
	tt.Waited(wait(0x20, mutex, ""), 1)
	tt.Waited(wait(0x30, mutex, ""), 1)
	for range triesForName {
		if !tt.WantsName(0x20) || tt.WantsName(0x10) || tt.WantsName(0x99) {
			t.Error("the wrong words want a name")
		}
	}
	if tt.WantsName(0x20) || !tt.WantsNames() {
		t.Error("it is looked for too often, or another is not any more")
	}
	tt.Rename(0x30, "CondVar", "Queue.ready 0x30", 0x30)
	if tt.Rename(0x30, "Mutex", "Queue.lock 0x30", 0x30); tt.WantsNames() {
		t.Error("a name is looked for that is known")
	}
	for name, live := range map[string]bool{"0x30 (work)": false, "Queue.lock 0x30": true} {
		if addr, ok := tt.Address("Mutex", name); addr != 0x30 || !ok || tree.Live(grid.SyncObject, "Mutex", name) != live {
			t.Errorf("%s stands for %#x, %v", name, addr, ok)
		}
	}
	if got := tt.Waited(wait(0x30, mutex, ""), 1); got != Part("Mutex", "Queue.lock 0x30") || tree.Live(grid.SyncObject, "CondVar", "Queue.ready 0x30") {
		t.Errorf("it is %q", got)
	}
	tt.Rename(0x40, "Mutex", "nobody's", 0x40)
	if _, ok := tt.Address("Mutex", "nobody's"); ok {
		t.Error("a lock that is not known got a name")
	}
}

// TestAnotherLock: memory on the heap becomes another lock. It must be called so three times, a tenth of a second apart, and not by its address
// alone.
func TestAnotherLock(t *testing.T) {
	tt, tree := newTable(nil)
	first, second := "Queue.lock 0x10", "Cache.lock 0x10"
	at := 1.0
	see := func(held string) string {
		at += 2 * sightEvery
		return tt.Waited(wait(0x10, mutex, held), at)
	}
	see(first)
	for i, held := range []string{second, first, second, second, "", second, second} {
		if got := see(held); got != Part("Mutex", first) {
			t.Fatalf("look %d: it is %q", i, got)
		}
	}
	at -= 2 * sightEvery // too early
	if got := see(second); got != Part("Mutex", first) {
		t.Fatalf("asked too often it is %q", got)
	}
	if got := see(second); got != Part("Mutex", second) || tree.Live(grid.SyncObject, "Mutex", first) || !tree.Live(grid.SyncObject, "Mutex", second) {
		t.Errorf("it is %q", got)
	}
	if _, ok := tt.Address("Mutex", first); ok || !tt.HasEnded("Mutex", first) || tt.HasEnded("Mutex", second) {
		t.Error("the first lock has not ended")
	}
}

// TestUnmapped: locks end with their memory, and may come again.
func TestUnmapped(t *testing.T) {
	tt, tree := newTable(variables{0x10: "a", 0x2010: "b"})
	tt.Waited(wait(0x10, mutex, ""), 1)
	tt.Waited(wait(0x2010, mutex, ""), 1)
	tt.EndUnmapped(func(addr uint64) bool { return addr < 0x1000 })
	if !tt.HasEnded("Mutex", "b") || tt.HasEnded("Mutex", "a") || tree.Live(grid.SyncObject, "Mutex", "b") || tt.IsKnown(0x2010) {
		t.Error("the wrong locks have ended")
	}
	if got := tt.Waited(wait(0x2010, mutex, ""), 2); got != Part("Mutex", "b") || tt.HasEnded("Mutex", "b") || !tree.Live(grid.SyncObject, "Mutex", "b") {
		t.Errorf("it came again as %q", got)
	}
}

// TestTaken: locks that were only taken are known as such until somebody waits for them, and are so many at most.
func TestTaken(t *testing.T) {
	tt, tree := newTable(variables{0x10: "a"})
	tt.Taken("Mutex", 0x10)
	tt.Taken("Mutex", 0x20)
	for _, name := range []string{"a", "0x20"} {
		if known, only := tt.OnlyTaken("Mutex", name); !known || !only || !tree.Live(grid.SyncObject, "Mutex", name) {
			t.Errorf("%s: known %v, only taken %v", name, known, only)
		}
	}
	tt.Waited(wait(0x20, mutex, "Queue.lock 0x20"), 1)
	if tree.Live(grid.SyncObject, "Mutex", "0x20") || !tree.Live(grid.SyncObject, "Mutex", "Queue.lock 0x20") {
		t.Error("its address is shown beside its name")
	}
	if known, only := tt.OnlyTaken("Mutex", "Queue.lock 0x20"); !known || only {
		t.Errorf("somebody waits for it: known %v, only taken %v", known, only)
	}
	if known, only := tt.OnlyTaken("Mutex", "nobody's"); known || only {
		t.Error("what is not known was taken")
	}
	for i := range uint64(2 * MaxTaken) {
		tt.Taken("Mutex", 0x1000+i)
	}
	if n := len(tree.Children(grid.SyncObject, "Mutex")); n > MaxTaken+1 {
		t.Errorf("%d locks are known", n)
	}
}

// TestHolders: who had a lock how often, in which function most, and that it fades.
func TestHolders(t *testing.T) {
	var s Holders
	names := map[uint64]string{1: "a.c/f", 2: "a.c/g"}
	of := func() []grid.Holder {
		list := s.Of("lock", func(f uint64) string { return names[f] })
		slices.SortFunc(list, func(a, b grid.Holder) int { return int(a.Thread[0]) - int(b.Thread[0]) })
		return list
	}
	if of() != nil {
		t.Error("somebody has a lock that nobody looked at")
	}
	for _, look := range []struct {
		thread string
		f      uint64
	}{{"x", 1}, {"x", 2}, {"x", 2}, {"x", 9}, {"x", 9}, {"x", 9}, {"y", 0}, {"", 1}} {
		s.Note("lock", look.thread, look.f)
	}
	want := []grid.Holder{{Thread: "x", Share: 6.0 / 8, Function: "a.c/g"}, {Thread: "y", Share: 1.0 / 8}}
	if got := of(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if s.Fade(0.5); len(of()) != 2 || of()[0].Share != want[0].Share {
		t.Errorf("after a while: %+v", of())
	}
	s.Fade(1.5 * least)
	s.Note("other", "z", 0)
	if got := of(); len(got) != 1 || got[0].Thread != "x" {
		t.Errorf("after a long while: %+v", got)
	}
	if s.Fade(least); of() != nil {
		t.Errorf("after a longer while: %+v", of())
	}
}
