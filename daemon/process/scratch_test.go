package process

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
)

// stacksSource has one thread on a stack of the library and one on 16 KiB of its own, and prints where both begin and end. All that is not in use
// of them, and what is below the second, holds known bytes. With an argument the main thread has filled its own stack too.
const stacksSource = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int done, up; static long low, high;
static void *stand(void *a) { pthread_attr_t at; void *lo; size_t n; pthread_getattr_np(pthread_self(), &at); pthread_attr_getstack(&at, &lo, &n); if (a) low = (long)lo, high = low + n;
  up++; while (!done); return 0; }
static __attribute__((noinline)) void dirty(void) { volatile char b[118 << 10]; memset((void *)b, 7, sizeof b); }
int main(int argc, char **argv) { char c; long bad = 0; pthread_t t[2]; pthread_attr_t at; if (argc > 1) dirty();
  char *pool = mmap(0, 128 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(pool, 7, 128 << 10); pthread_attr_init(&at); pthread_attr_setstack(&at, pool + (64 << 10), 16 << 10);
  pthread_create(&t[0], 0, stand, 0); while (up < 1); pthread_create(&t[1], &at, stand, &at); while (up < 2); puts("ready"); fflush(stdout);
  while (read(0, &c, 1) > 0); done = 1; pthread_join(t[0], 0); pthread_join(t[1], 0);
  for (int i = 0; i < 64 << 10; i++) bad += pool[i] != 7; for (int i = 80 << 10; i < 128 << 10; i++) bad += pool[i] != 7;
  printf("bad %ld\nlow %ld\nhigh %ld\n", bad, low, high); return 0; }
`

// TestStackBounds: of threads that the C library has made it is known where their stacks end, also of those that the program gave them.
func TestStackBounds(t *testing.T) {
	tg := start(t, compile(t, stacksSource))
	p := open(t, tg.pid())
	var bounds [][2]raw.Addr
	stop(t, p, func(w *World) error {
		for _, th := range w.Threads() {
			if lo, hi, ok := w.calls.StackOf(th); ok {
				bounds = append(bounds, [2]raw.Addr{lo, hi})
			}
		}
		return nil
	})
	res := tg.finish()
	if len(bounds) != 2 {
		t.Fatalf("the stacks of %d threads are known, want 2", len(bounds))
	}
	if want := [2]raw.Addr{raw.Addr(res["low"]), raw.Addr(res["high"])}; bounds[1] != want {
		t.Errorf("stack %v, want %v", bounds[1], want)
	}
	if n := bounds[0][1] - bounds[0][0]; n < 1<<20 {
		t.Errorf("the library's stack has %d bytes", n)
	}
}

// TestBorrowedBytesComeBack: a stop with calls leaves every writable byte of the target as it was, wherever the calls were made from.
func TestBorrowedBytesComeBack(t *testing.T) {
	for _, mode := range [][]string{nil, {"dirty"}} {
		tg := start(t, compile(t, stacksSource), mode...)
		p := open(t, tg.pid())
		for range 5 {
			stop(t, p, func(w *World) error { return borrowAndGiveBack(t, w) })
		}
		if res := tg.finish(); res["bad"] != 0 {
			t.Errorf("target: %v", res)
		}
	}
}

// borrowAndGiveBack makes calls that are made from a borrowed piece of a stack, and compares all writable memory.
func borrowAndGiveBack(t *testing.T, w *World) error {
	t.Helper()
	before := writableBytes(t, w)
	kernels := rseqAreas(w)
	if err := mapPage(w); err != nil {
		return err
	}
	if err := w.calls.Leave(); err != nil {
		return err
	}
	for at, was := range before {
		is := make([]byte, len(was))
		if err := w.ReadMem(at, is); err != nil {
			return fmt.Errorf("the mapping at %v: %w", at, err)
		}
		for i := range was {
			if was[i] != is[i] && !kernels[at+raw.Addr(i)] {
				return fmt.Errorf("%#x of the mapping at %v was %#x and is %#x", i, at, was[i], is[i])
			}
		}
	}
	return nil
}

// rseqAreas are the bytes that the kernel writes itself when a thread goes to another CPU.
func rseqAreas(w *World) map[raw.Addr]bool {
	all := map[raw.Addr]bool{}
	for _, t := range w.Threads() {
		if area := raw.RseqArea(t.TID); area != 0 {
			for i := range raw.Addr(32) {
				all[area+i] = true
			}
		}
	}
	return all
}

func writableBytes(t *testing.T, w *World) map[raw.Addr][]byte {
	t.Helper()
	all := map[raw.Addr][]byte{}
	for _, m := range must2(w.Maps()) {
		if m.Perms&raw.Write == 0 || m.Len() > 16<<20 || remote.IsOwn(m) {
			continue
		}
		b := make([]byte, m.Len())
		if err := w.ReadMem(m.Start, b); err == nil {
			all[m.Start] = b
		}
	}
	return all
}

// TestPageOfKilledTracer: what a tracer that was killed has left is known, and the next one that removes such pages does, at each of
// the points at which there is something.
func TestPageOfKilledTracer(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	killVictim(t, tg, ownPage, 1)
	killVictim(t, tg, "call.made", 3, "page")
	p := open(t, tg.pid())
	if n := len(Leftovers(must2(p.Maps()))); n == 0 {
		t.Error("no page was left: this test shows nothing")
	}
	isTidy(t, p) // a thread may still have to come back from one
	checkState(t, tg)
}

// TestNoRoomForAPage: a target that may have no more memory can be restored all the same.
func TestNoRoomForAPage(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	limit := func(n uint64) {
		must(t, unix.Prlimit(tg.pid(), unix.RLIMIT_AS, &unix.Rlimit{Cur: n, Max: unix.RLIM_INFINITY}, nil))
	}
	stop(t, p, func(w *World) error {
		limit(1 << 20) // only while the target stands still: its stacks may have to grow
		defer limit(unix.RLIM_INFINITY)
		for range 3 {
			if got, err := w.Syscall(unix.SYS_GETPID); err != nil || int(got) != tg.pid() {
				t.Errorf("getpid: %d, %v", got, err)
			}
		}
		if _, err := w.Mmap(0, raw.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0); !errors.Is(err, unix.ENOMEM) {
			t.Errorf("mmap: %v", err)
		}
		return nil
	})
	if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
		t.Errorf("target: %v", res)
	}
}
