package process

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
)

// deepSource has one thread, which stands for ever where its main stack has never been deeper, with less than 2 KiB below it. It looks at
// its registers, its red zone and, when it comes back, at each of its frames. With an argument its stack is at its limit, too.
const deepSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
static uintptr_t lo, hi; static volatile long bad, loops;
static void find(void) { char b[400]; FILE *f = fopen("/proc/self/maps", "r"); while (fgets(b, sizeof b, f)) if (strstr(b, "[stack]")) { unsigned long l, h; sscanf(b, "%lx-%lx", &l, &h); lo = l; hi = h; } fclose(f); }
/* general registers and the red zone */
static __attribute__((noinline)) long spin(long n) { long broken = 0;
  asm volatile("mov $0x1111,%%r8\n mov $0x2222,%%r9\n mov $0x3333,%%r12\n mov $0x4444,%%r15\n movq %%r8,%%xmm7\n"
   "1: movq %%r8,-8(%%rsp)\n movq %%r9,-64(%%rsp)\n movq %%r12,-128(%%rsp)\n mov $20,%%eax\n 2: dec %%eax\n jnz 2b\n cmpq $0x1111,-8(%%rsp)\n jne 3f\n cmpq $0x2222,-64(%%rsp)\n jne 3f\n cmpq $0x3333,-128(%%rsp)\n jne 3f\n cmp $0x4444,%%r15\n jne 3f\n movq %%xmm7,%%rdx\n cmp %%rdx,%%r8\n jne 3f\n jmp 4f\n 3: inc %[bad]\n 4: dec %[n]\n jnz 1b\n"
   : [bad] "+r"(broken), [n] "+r"(n) :: "rax", "rdx", "r8", "r9", "r12", "r15", "xmm7", "memory", "cc");
  return broken; }
static __attribute__((noinline)) void work(void) { char c; struct timespec ts = {0, 50000}; write(1, "ready\n", 6);
  for (;;) { loops++; bad += spin(2000); if (nanosleep(&ts, 0)) bad++; long n = read(0, &c, 1); if (!n) return; if (n < 0 && errno != EAGAIN) bad++; } }
static __attribute__((noinline)) long deep(long n) { volatile uint64_t b[40]; for (int i = 0; i < 40; i++) b[i] = n * 40 + i;
  if ((uintptr_t)b - lo < 1500) work(); else deep(n + 1); for (int i = 0; i < 40; i++) bad += b[i] != n * 40 + i; return n; }
int main(int argc, char **argv) { fcntl(0, F_SETFL, O_NONBLOCK); find(); if (argc > 1) { struct rlimit r = {hi - lo, RLIM_INFINITY}; setrlimit(RLIMIT_STACK, &r); } deep(1);
  printf("bad %ld\nloops %ld\n", bad, loops); return 0; }
`

func startDeep(t *testing.T, args ...string) *target {
	return start(t, compile(t, deepSource, "-Wl,-z,now", "-fno-stack-protector"), args...)
}

// TestCallsOnADeepStack: where nothing is free below the only thread, calls are made all the same, and each byte is as it was.
func TestCallsOnADeepStack(t *testing.T) {
	tg := startDeep(t)
	p := open(t, tg.pid())
	was := stackOfMain(t, p)
	for round := range 20 {
		stop(t, p, func(w *World) error {
			sp := raw.Addr(w.Threads()[0].Regs.Rsp)
			if room := sp - was.Start; round == 0 && room > raw.PageSize {
				t.Fatalf("there are %d bytes below the stack pointer: this test shows nothing", room)
			}
			return borrowAndGiveBack(t, w)
		})
	}
	is := stackOfMain(t, p)
	if is.End != was.End || is.Start >= was.Start || was.Start-is.Start > 8*raw.PageSize {
		t.Errorf("the stack was %v-%v and is %v-%v", was.Start, was.End, is.Start, is.End)
	}
	below := make([]byte, was.Start-is.Start)
	must(t, p.ReadMem(is.Start, below))
	if strings.Trim(string(below), "\x00") != "" {
		t.Error("what was added to the stack holds something")
	}
	if left := Leftovers(must2(p.Maps())); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if res := tg.finish(); res["bad"] != 0 || res["loops"] == 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

func stackOfMain(t *testing.T, p *Process) raw.Mapping {
	t.Helper()
	for _, m := range must2(p.Maps()) {
		if m.Path == "[stack]" {
			return m
		}
	}
	t.Fatal("no main stack")
	return raw.Mapping{}
}

// TestDeepStackAtItsLimit: a stack is not made longer than the target may have it, whatever we may have; and as long as we may not, but the
// target may, it is.
func TestDeepStackAtItsLimit(t *testing.T) {
	tg := startDeep(t, "limit")
	p := open(t, tg.pid())
	was := stackOfMain(t, p)
	call := func() error {
		_, err := p.Stop(context.Background(), StopOptions{}, func(w *World) error {
			_, err := w.Syscall(unix.SYS_GETPID)
			return err
		})
		return err
	}
	var unsupported *raw.Unsupported
	if err := call(); !errors.As(err, &unsupported) || !unsupported.Passes {
		t.Errorf("a call at the end of the stack: %v", err)
	}
	if is := stackOfMain(t, p); is != was {
		t.Errorf("the stack was %v-%v and is %v-%v", was.Start, was.End, is.Start, is.End)
	}
	var ours unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_STACK, &ours))
	must(t, unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: 64 << 10, Max: ours.Max}))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_STACK, &ours)) }()
	must(t, unix.Prlimit(tg.pid(), unix.RLIMIT_STACK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, nil))
	if err := call(); err != nil {
		t.Errorf("with room up to the limit: %v", err)
	}
	var now unix.Rlimit
	if must(t, unix.Getrlimit(unix.RLIMIT_STACK, &now)); now.Cur != 64<<10 {
		t.Errorf("our own limit is %d", now.Cur)
	}
	if res := tg.finish(); res["bad"] != 0 || res["loops"] == 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

// TestTracerKilledOnADeepStack kills a tracer at each of its fault points within calls that are made from what was added to a stack. Each
// time the target is a new one: the first call adds.
func TestTracerKilledOnADeepStack(t *testing.T) {
	for _, point := range raw.FaultPoints {
		if point == "stop.broken-call" {
			continue // needs a thread in such a call
		}
		for nth := 1; nth <= 2; nth++ {
			tg := startDeep(t)
			killVictim(t, tg, point, nth)
			isBack(t, tg)
			checkState(t, tg)
		}
	}
	tg := startDeep(t)
	for range 20 {
		killVictim(t, tg, "", 0)
		isBack(t, tg)
	}
	checkState(t, tg)
}

// isBack waits until the only thread has come back from a call in which a tracer was killed.
func isBack(t *testing.T, tg *target) {
	t.Helper()
	p := open(t, tg.pid())
	eventually(t, "the thread has completed its call", func() bool {
		_, err := p.Stop(context.Background(), StopOptions{}, func(w *World) error {
			_, err := w.Syscall(unix.SYS_GETPID)
			return err
		})
		if err != nil && !errors.As(err, new(*raw.Deferred)) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestFramesAreApart: whichever thread makes a call, no other one stands shortly above the frame, where it would go on if we were killed.
func TestFramesAreApart(t *testing.T) {
	for _, mode := range [][]string{nil, {"dirty"}} {
		tg := start(t, compile(t, stacksSource), mode...)
		p := open(t, tg.pid())
		found := 0
		stop(t, p, func(w *World) error {
			const n = 4 << 10
			for _, caller := range w.Threads() {
				at, _, err := w.calls.FindScratch(caller.TID, n)
				if err != nil {
					continue
				}
				found++
				for _, other := range w.Threads() {
					sp := raw.Addr(other.Regs.Rsp)
					if other.TID != caller.TID && sp > at && sp < at+n+remote.Apart {
						t.Errorf("%v: a frame of thread %d at %v, below thread %d at %v", mode, caller.TID, at, other.TID, sp)
					}
				}
			}
			return nil
		})
		if found != 3 {
			t.Errorf("%v: %d of 3 threads have room", mode, found)
		}
		if res := tg.finish(); res["bad"] != 0 {
			t.Errorf("target: %v", res)
		}
	}
}
