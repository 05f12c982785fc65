package process

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// TestInjectedCallThatBlocks: a call that does not come back in time is left to the thread, which makes it to its end, returns to
// what it did and can be stopped again.
func TestInjectedCallThatBlocks(t *testing.T) {
	tg := start(t, compile(t, stateSource), "running")
	p := open(t, tg.pid())
	const asleep = 600 // ms
	begin := time.Now()
	pause, err := p.Stop(t.Context(), StopOptions{Deadline: 200 * time.Millisecond}, func(w *World) error {
		_, err := w.Syscall(unix.SYS_POLL, 0, 0, asleep)
		return err
	})
	var d *raw.Deferred
	if !errors.As(err, &d) || d.TID == 0 {
		t.Fatalf("%v", err)
	}
	if took := time.Since(begin); took > 400*time.Millisecond {
		t.Errorf("given up after %v only", took)
	}
	t.Logf("%v; pause %v", d, pause.Total)
	until := begin.Add(10 * time.Second)
	for time.Now().Before(until) {
		if _, err = p.Stop(t.Context(), StopOptions{Deadline: time.Second}, (*World).Pending); err == nil { // until then no other call is made
			break
		}
	}
	if err != nil {
		t.Errorf("the target cannot be stopped again: %v", err)
	}
	stop(t, p, func(w *World) error {
		if got, err := w.Syscall(unix.SYS_GETPID); err != nil || int(got) != tg.pid() {
			t.Errorf("getpid: %d, %v", got, err)
		}
		return nil
	})
	if res := tg.finish(); res["bad"] != 0 || res["loops"] == 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

// TestRemoteCallsThatFail: the errors name the call, and what was half done is undone.
func TestRemoteCallsThatFail(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	stop(t, p, func(w *World) error {
		before := fdCount(t, tg.pid())
		maps, err := w.Maps()
		if err != nil {
			return err
		}
		taken := maps[0].Start
		const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
		if _, err := w.Mmap(taken, raw.PageSize, unix.PROT_READ, flags|unix.MAP_FIXED_NOREPLACE, -1, 0); !errors.Is(err, unix.EEXIST) {
			t.Errorf("a mapping over another one: %v", err)
		}
		if err := w.Munmap(taken+1, raw.PageSize); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "munmap") {
			t.Errorf("munmap at an odd address: %v", err)
		}
		if err := w.CloseFD(54321); !errors.Is(err, unix.EBADF) || !strings.Contains(err.Error(), "54321") {
			t.Errorf("close: %v", err)
		}
		if after := fdCount(t, tg.pid()); after != before {
			t.Errorf("%d descriptors, before %d", after, before)
		}
		return nil
	})
	if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

// rseqSource has a thread that spends all its time in a restartable sequence, which the kernel restarts when it preempts it. With an
// argument another thread stands by outside of any.
const rseqSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/rseq.h>
static volatile int done, armed; static volatile long spins;
struct cs { uint32_t version, flags; uint64_t start, length, abort; } __attribute__((aligned(32)));
static void spin(void) {
  struct rseq *r = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
  asm volatile(
    ".pushsection .data\n .balign 32\n 9: .long 0, 0\n .quad 1f, 2f-1f, 4f\n .popsection\n"
    " jmp 5f\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"
    "4: nop\n"                                            /* restarted */
    "5: lea 9b(%%rip), %%rax\n mov %%rax, 8(%[r])\n"
    "1: incq %[n]\n movl $1, %[a]\n cmpl $0, %[d]\n je 1b\n"
    "2: movq $0, 8(%[r])\n"
    : [n] "+m"(spins), [a] "+m"(armed) : [r] "r"(r), [d] "m"(done) : "rax", "memory", "cc"); }
static void *inside(void *a) { spin(); return a; }
static void *standby(void *a) { while (!done) { for (volatile int i = 0; i < 100; i++); } return a; }
int main(int argc, char **argv) {
  (void)argv; pthread_t t[2];
  pthread_create(&t[0], 0, inside, 0);
  if (argc > 1) pthread_create(&t[1], 0, standby, 0);
  while (!armed); puts("ready"); fflush(stdout);
  char c; while (read(0, &c, 1) > 0); done = 1;
  for (int i = 0; i < (argc > 1 ? 2 : 1); i++) pthread_join(t[i], 0);
  printf("spins %ld\n", spins > 0); return 0; }
`

// TestRestartableSequence: a thread inside one is not sent elsewhere; another makes the call, and where the question is asked of the
// thread itself the answer is yes inside and no outside.
func TestRestartableSequence(t *testing.T) {
	tg := start(t, compile(t, rseqSource), "standby")
	p := open(t, tg.pid())
	inside, outside := 0, 0
	for range 20 {
		stop(t, p, func(w *World) error {
			for _, th := range w.Threads() {
				if w.calls.InRseq(w.s.threads[th.TID]) {
					inside++
				} else {
					outside++
				}
			}
			tr, err := w.calls.ChooseThread()
			if err != nil {
				return err
			}
			if w.calls.InRseq(tr) {
				t.Error("a thread in a restartable sequence was chosen")
			}
			_, err = w.Syscall(unix.SYS_GETPID)
			return err
		})
	}
	t.Logf("threads inside %d times, outside %d times", inside, outside)
	if inside < 10 || inside > 20 || outside < 40 {
		t.Errorf("threads inside %d times, outside %d times; want 20 and 40", inside, outside)
	}
	if res := tg.finish(); res["spins"] != 1 {
		t.Errorf("target: %v", res)
	}
}
