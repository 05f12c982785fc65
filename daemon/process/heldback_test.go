package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// heldBackSource has two threads that compute, of which one can be held back, and a main thread that goes down 1 MiB of its stack when it is told to.
const heldBackSource = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile int done, up; static volatile long bad;
static void *compute(void *a) { volatile long n = 0, m = 0; __sync_fetch_and_add(&up, 1); while (!done) { n++; m++; if (n != m) bad++; } return a; }
static __attribute__((noinline)) int deep(int n) { volatile char b[4096]; memset((void *)b, 0x55, sizeof b); return n ? deep(n - 1) + b[n] : 0; }
int main(void) { char c; pthread_t t[2]; for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, compute, 0);
  while (up < 2); puts("ready"); fflush(stdout);
  while (read(0, &c, 1) > 0) if (c == 'd') { deep(256); puts("deep"); fflush(stdout); }
  done = 1; for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  printf("bad %ld\n", bad); return 0; }
`

// holdBack puts a thread of a process, which the freezer has, into a group of its own that hold freezes and release thaws.
func holdBack(t *testing.T, dir string, tid int) (hold, release func()) {
	t.Helper()
	group := filepath.Join(dir, itoa(tid))
	must(t, os.Mkdir(group, 0o700))
	write := func(file, text string) { must(t, os.WriteFile(filepath.Join(group, file), []byte(text), 0o600)) }
	release = func() { write("cgroup.freeze", "0") }
	t.Cleanup(func() {
		release()
		_ = os.WriteFile(filepath.Join(dir, "cgroup.threads"), []byte(itoa(tid)), 0o600) // it has ended, unless the test has failed
		for end := time.Now().Add(5 * time.Second); unix.Rmdir(group) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	write("cgroup.type", "threaded")
	write("cgroup.threads", itoa(tid))
	return func() { write("cgroup.freeze", "1") }, release
}

// TestUnmapByAThreadHeldBack: a thread was to unmap the page of our calls and is held back. What it unmaps, late, is nothing that another one
// stands on since.
func TestUnmapByAThreadHeldBack(t *testing.T) {
	tg := start(t, compile(t, heldBackSource))
	p := open(t, tg.pid())
	dir := filepath.Dir(freezer(t, tg.pid()))
	call := func(w *World) error {
		_, err := w.Syscall(unix.SYS_GETPID)
		return err
	}
	var first int
	stop(t, p, func(w *World) error {
		first = must2(w.calls.ChooseThread()).TID
		return nil
	})
	hold, release := holdBack(t, dir, first)
	soon := StopOptions{Deadline: 200 * time.Millisecond}
	_, err := p.Stop(t.Context(), soon, func(w *World) error {
		defer hold()
		return call(w)
	})
	must(t, err)
	var second int
	var release2 func()
	for range 3 { // others may unmap what is left of it, and map it anew
		_, _ = p.Stop(t.Context(), soon, func(w *World) error {
			if err := call(w); err != nil {
				return err
			}
			if second != 0 {
				return nil
			}
			tr, err := w.calls.ChooseThread()
			if err == nil {
				second = tr.TID
			}
			return err
		})
	}
	if second != 0 {
		var hold2 func()
		hold2, release2 = holdBack(t, dir, second)
		_, err := p.Stop(t.Context(), soon, func(w *World) error {
			if err := call(w); err != nil {
				return err
			}
			hold2()
			return call(w) // it stands on the page
		})
		t.Logf("thread %d was to make a call, too: %v", second, err)
	}
	release()
	time.Sleep(50 * time.Millisecond)
	if release2 != nil {
		release2()
	}
	isTidy(t, p)
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("target: %v", res)
	}
}

// TestFrameOfAThreadHeldBack: what a thread comes back by that is held back is not where another one goes meanwhile.
func TestFrameOfAThreadHeldBack(t *testing.T) {
	tg := start(t, compile(t, heldBackSource))
	p := open(t, tg.pid())
	dir := filepath.Dir(freezer(t, tg.pid()))
	var release func()
	_, err := p.Stop(t.Context(), StopOptions{}, func(w *World) error {
		var hold func()
		hold, release = holdBack(t, dir, must2(w.calls.ChooseThread()).TID)
		hold()
		_, err := w.Syscall(unix.SYS_GETPID)
		return err
	})
	if d := (*raw.Deferred)(nil); !errors.As(err, &d) || !d.InCall {
		t.Fatalf("the call was made: %v", err)
	}
	tg.write(t, "d")
	tg.expect("deep")
	release()
	isTidy(t, p)
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("target: %v", res)
	}
}

// isTidy waits until all calls are complete and their pages are gone.
func isTidy(t *testing.T, p *Process) {
	t.Helper()
	eventually(t, "all calls are complete, and pages gone", func() bool {
		_, err := p.Stop(t.Context(), StopOptions{}, func(w *World) error { return errors.Join(w.Pending(), w.Tidy()) })
		return err == nil && len(Leftovers(must2(p.Maps()))) == 0
	})
}
