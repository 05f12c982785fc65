package process

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/remote"
)

// stateSource checks everything a thread has: general registers, the red zone, ymm or zmm registers, x87, MXCSR, flags, signal mask.
// One kind of thread does it in a loop, the other around raw system calls (argument "blocked": only those; "running": only the first).
// With a second argument the main thread has used all of its stack and stands on another one, as in a program with coroutines.
const stateSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <time.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/epoll.h>
#include <sys/mman.h>
static volatile int done;
static volatile long bad, loops, eintr;
struct box { uint8_t in[32][64], out[32][64]; uint64_t gin[8], gout[8], red[16]; uint32_t mxin, mxout; double x87in, x87out; uint64_t flags; uint64_t kin[8], kout[8]; } __attribute__((aligned(64)));
static int wide;
#define L(i) "vmovdqu64 " #i "*64(%0), %%zmm" #i "\n"
#define S(i) "vmovdqu64 %%zmm" #i ", 2048+" #i "*64(%0)\n"
#define LY(i) "vmovdqu " #i "*64(%0), %%ymm" #i "\n"
#define SY(i) "vmovdqu %%ymm" #i ", 2048+" #i "*64(%0)\n"
#define ALL16(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define HI16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define VCLOB "xmm0","xmm1","xmm2","xmm3","xmm4","xmm5","xmm6","xmm7","xmm8","xmm9","xmm10","xmm11","xmm12","xmm13","xmm14","xmm15"
__attribute__((target("avx512f"),noinline)) static void load512(struct box *b) { asm volatile(ALL16(L) HI16(L) "kmovw 0x10f0(%0), %%k1\n" :: "r"(b) : "memory"); }
__attribute__((target("avx512f"),noinline)) static void save512(struct box *b) { asm volatile(ALL16(S) HI16(S) :: "r"(b) : "memory"); }
__attribute__((target("avx"),noinline)) static void load256(struct box *b) { asm volatile(ALL16(LY) :: "r"(b) : "memory"); }
__attribute__((target("avx"),noinline)) static void save256(struct box *b) { asm volatile(ALL16(SY) :: "r"(b) : "memory"); }
static void load(struct box *b) { if (wide) load512(b); else load256(b); }
static void save(struct box *b) { if (wide) save512(b); else save256(b); }
static void fill(struct box *b, unsigned *seed) { for (unsigned i = 0; i < sizeof b->in; i++) ((uint8_t *)b->in)[i] = rand_r(seed); for (int i = 0; i < 8; i++) b->gin[i] = ((uint64_t)rand_r(seed) << 33) ^ rand_r(seed); b->x87in = rand_r(seed) / 3.0; b->mxin = 0x1f80 | ((rand_r(seed) & 3) << 13); memset(b->out, 0, sizeof b->out); }
static void check(struct box *b, const char *what) {
  int n = wide ? 32 : 16, w = wide ? 64 : 32, ok = 1;
  for (int i = 0; i < n; i++) if (memcmp(b->in[i], b->out[i], w)) { ok = 0; fprintf(stderr, "%s: vector %d differs\n", what, i); }
  if (memcmp(b->gin, b->gout, sizeof b->gin)) { ok = 0; fprintf(stderr, "%s: general registers differ\n", what); }
  if (b->mxin != (b->mxout & ~0x3f)) { ok = 0; fprintf(stderr, "%s: mxcsr %x %x\n", what, b->mxin, b->mxout); }
  if (b->x87in != b->x87out) { ok = 0; fprintf(stderr, "%s: x87 differs\n", what); }
  if (!ok) __sync_fetch_and_add(&bad, 1);
  __sync_fetch_and_add(&loops, 1);
}
/* general registers and the red zone, in a loop of about a hundred microseconds */
static long spin(struct box *b, long n) { long broken = 0;
  asm volatile("movq 0(%[g]),%%r8\n movq 8(%[g]),%%r9\n movq 16(%[g]),%%r10\n movq 24(%[g]),%%r11\n movq 32(%[g]),%%r12\n movq 40(%[g]),%%r13\n movq 48(%[g]),%%r14\n movq 56(%[g]),%%r15\n"
   "1: movq %%r8,-8(%%rsp)\n movq %%r9,-64(%%rsp)\n movq %%r10,-128(%%rsp)\n mov $20,%%eax\n 2: dec %%eax\n jnz 2b\n cmpq %%r8,-8(%%rsp)\n jne 3f\n cmpq %%r9,-64(%%rsp)\n jne 3f\n cmpq %%r10,-128(%%rsp)\n jne 3f\n jmp 4f\n 3: inc %[bad]\n 4: dec %[n]\n jnz 1b\n"
   "movq %%r8,0(%[o])\n movq %%r9,8(%[o])\n movq %%r10,16(%[o])\n movq %%r11,24(%[o])\n movq %%r12,32(%[o])\n movq %%r13,40(%[o])\n movq %%r14,48(%[o])\n movq %%r15,56(%[o])\n"
   : [bad] "+r"(broken), [n] "+r"(n) : [g] "r"(b->gin), [o] "r"(b->gout) : "rax", "r8","r9","r10","r11","r12","r13","r14","r15","memory","cc");
  return broken; }
static void checkmask(void) { sigset_t m; pthread_sigmask(SIG_BLOCK, 0, &m); if (!sigismember(&m, SIGUSR2) || sigismember(&m, SIGUSR1)) { fprintf(stderr, "mask differs\n"); __sync_fetch_and_add(&bad, 1); } }
static void *running(void *a) { struct box *b = aligned_alloc(64, sizeof *b); unsigned seed = (long)a;
  while (!done) { fill(b, &seed); asm volatile("ldmxcsr %0\n fldl %1" :: "m"(b->mxin), "m"(b->x87in)); load(b);
    long r = spin(b, 2000); save(b); asm volatile("stmxcsr %0\n fstpl %1" : "=m"(b->mxout), "=m"(b->x87out));
    uint32_t d = 0x1f80; asm volatile("ldmxcsr %0" :: "m"(d)); if (r) __sync_fetch_and_add(&bad, 1); check(b, "running"); checkmask(); } return 0; }
static long raw(struct box *b, long nr, long a0, long a1, long a2, long a3) { register long r10 asm("r10") = a3; register long r8 asm("r8") = 8; long ret;
  asm volatile("movq 0(%[b]),%%r12\n movq 8(%[b]),%%r13\n movq 16(%[b]),%%r14\n movq 24(%[b]),%%r15\n syscall\n movq %%r12,0(%[o])\n movq %%r13,8(%[o])\n movq %%r14,16(%[o])\n movq %%r15,24(%[o])\n"
   : "=a"(ret) : "a"(nr), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), [b] "b"(b->gin), [o] "r"(b->gout) : "rcx", "r11", "r12","r13","r14","r15","memory","cc"); return ret; }
static void *blocked(void *a) { struct box *b = aligned_alloc(64, sizeof *b); unsigned seed = (long)a; int kind = (long)a % 4, e = epoll_create1(0); static int f; sigset_t none; sigemptyset(&none); struct epoll_event ev;
  while (!done) { volatile struct timespec ts; ts.tv_sec = 0; ts.tv_nsec = 3000000; long r;
    long nr[] = {SYS_nanosleep, SYS_epoll_wait, SYS_futex, SYS_ppoll}; volatile long args[4][4] = {{(long)&ts, 0, 0, 0}, {e, (long)&ev, 1, 3}, {(long)&f, 128, 0, (long)&ts}, {0, 0, (long)&ts, (long)&none}};
    long n = nr[kind], a0 = args[kind][0], a1 = args[kind][1], a2 = args[kind][2], a3 = args[kind][3];
    fill(b, &seed); asm volatile("ldmxcsr %0\n fldl %1" :: "m"(b->mxin), "m"(b->x87in)); load(b);
    r = raw(b, n, a0, a1, a2, a3);
    save(b); asm volatile("stmxcsr %0\n fstpl %1" : "=m"(b->mxout), "=m"(b->x87out)); uint32_t d = 0x1f80; asm volatile("ldmxcsr %0" :: "m"(d));
    memcpy(b->gout + 4, b->gin + 4, 32); if (n == SYS_futex && r == -ETIMEDOUT) r = 0;
    if (r == -EINTR) __sync_fetch_and_add(&eintr, 1); else if (r) { fprintf(stderr, "call %d gave %ld\n", kind, r); __sync_fetch_and_add(&bad, 1); } check(b, "blocked"); 
    checkmask(); } return 0; }
static void *beat(void *a) { volatile long *page = a; while (!done) { (*page)++; usleep(500); } return 0; }
static void handler(int s) {}
static ucontext_t back, other; static int ac; static char **av; static int body(int argc, char **argv);
static void elsewhere(void) { exit(body(ac, av)); }
static __attribute__((noinline)) void dirty(void) { volatile char a[120 << 10]; for (unsigned i = 0; i < sizeof a; i++) a[i] = i | 1; }
int main(int argc, char **argv) { ac = argc; av = argv; if (argc > 2) { dirty(); getcontext(&other); other.uc_stack.ss_sp = malloc(1 << 18); other.uc_stack.ss_size = 1 << 18; makecontext(&other, elsewhere, 0); swapcontext(&back, &other); } return body(argc, argv); }
static int body(int argc, char **argv) {
  __builtin_cpu_init(); wide = __builtin_cpu_supports("avx512f"); const char *mode = argc > 1 ? argv[1] : "both";
  struct sigaction sa = {.sa_handler = handler}; sigaction(SIGUSR1, &sa, 0);
  sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); pthread_sigmask(SIG_BLOCK, &s, 0);
  pthread_t th[16]; int n = 0; long *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (strcmp(mode, "blocked")) for (long i = 0; i < 2; i++) pthread_create(&th[n++], 0, running, (void *)(i + 100));
  if (strcmp(mode, "running")) for (long i = 0; i < 4; i++) pthread_create(&th[n++], 0, blocked, (void *)i);
  puts("ready"); fflush(stdout);
  char c; long got; while ((got = read(0, &c, 1)) > 0); if (got < 0) eintr++; done = 1; checkmask();
  for (int i = 0; i < n; i++) pthread_join(th[i], 0);
  printf("bad %ld\nloops %ld\neintr %ld\nwide %d\n", bad, loops, eintr, wide); return 0; }
`

func TestInjectedCallsLeaveNoTrace(t *testing.T) {
	for _, mode := range []string{"running", "blocked"} {
		t.Run(mode, func(t *testing.T) {
			tg := start(t, compile(t, stateSource), mode)
			p := open(t, tg.pid())
			const calls = 500
			var spent time.Duration
			for i := range calls {
				stop(t, p, func(w *World) error {
					begin := time.Now()
					pid, err := w.Syscall(unix.SYS_GETPID)
					spent += time.Since(begin)
					if err == nil && int(pid) != tg.pid() {
						t.Errorf("getpid in the target gave %d", pid)
					}
					return err
				})
				if i%10 == 0 {
					time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				}
			}
			res := tg.finish()
			t.Logf("%d calls, mean %v; target: %v", calls, spent/calls, res)
			if res["bad"] != 0 || res["eintr"] != 0 || res["loops"] == 0 {
				t.Errorf("the target noticed: %v", res)
			}
		})
	}
}

func TestSharedMemoryInTarget(t *testing.T) {
	tg := start(t, compile(t, stateSource), "running")
	p := open(t, tg.pid())
	const size = 1 << 16
	before := fdCount(t, tg.pid())
	var addr raw.Addr
	ours, err := unix.MemfdCreate("culprit test", unix.MFD_CLOEXEC)
	must(t, err)
	f := os.NewFile(uintptr(ours), "culprit test")
	must(t, f.Truncate(size))
	stop(t, p, func(w *World) error {
		fds, err := w.PassFDs([]int{ours}, func(...int) error { return nil })
		if err != nil {
			return err
		}
		if addr, err = w.Mmap(0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, fds[0], 0); err != nil {
			return err
		}
		return w.CloseFD(fds[0])
	})
	defer f.Close()
	if n := fdCount(t, tg.pid()); n != before {
		t.Errorf("the target has %d descriptors, had %d", n, before)
	}
	want := []byte("written by the daemon")
	if _, err := f.WriteAt(want, 100); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	must(t, p.ReadMem(addr+100, got))
	if !bytes.Equal(got, want) {
		t.Errorf("the target's memory holds %q", got)
	}
	must(t, p.WriteData(addr+200, want))
	if _, err := f.ReadAt(got, 200); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the daemon reads %q, %v", got, err)
	}
	stop(t, p, func(w *World) error {
		if _, err := w.Mmap(addr, raw.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, -1, 0); !errors.Is(err, unix.EEXIST) {
			t.Errorf("mapping over a taken address: %v", err)
		}
		return w.Munmap(addr, size)
	})
	if err := p.ReadMem(addr, got); err == nil {
		t.Error("memory is still there after munmap")
	}
	if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

func TestInjectedCallFails(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	stop(t, p, func(w *World) error {
		if _, err := w.Syscall(unix.SYS_CLOSE, 12345); err != unix.EBADF {
			t.Errorf("close of a descriptor that is not open: %v", err)
		}
		if _, err := w.Mmap(0, 0, 0, unix.MAP_PRIVATE, -1, 0); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EBADF) {
			t.Errorf("mmap of nothing: %v", err)
		}
		return nil
	})
	var kept *World
	stop(t, p, func(w *World) error { kept = w; return nil })
	if _, err := kept.Syscall(unix.SYS_GETPID); !errors.Is(err, ErrWorldOver) {
		t.Errorf("call outside of Stop: %v", err)
	}
	if err := kept.WriteText(0x1000, []byte{1}); !errors.Is(err, ErrWorldOver) {
		t.Errorf("write outside of Stop: %v", err)
	}
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

// TestCallsBehindRestoredText: all code that a call can be made from was patched when the stop began, and came back within it.
func TestCallsBehindRestoredText(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	stop(t, p, func(w *World) error {
		p.known = remote.Known{} // as a search leaves it where every place is patched
		pid, err := w.Syscall(unix.SYS_GETPID)
		if int(pid) != tg.pid() {
			t.Errorf("getpid says %d in process %d", pid, tg.pid())
		}
		return err
	})
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

func fdCount(t *testing.T, pid int) int {
	t.Helper()
	names, err := filepath.Glob("/proc/" + itoa(pid) + "/fd/*")
	must(t, err)
	return len(names)
}

// TestWriteText changes a function of the running program and puts it back.
func TestWriteText(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	if d, err := p.DiffText(); err != nil || len(d) != 0 {
		t.Fatalf("untouched target: %v, %v", d, err)
	}
	maps, err := p.Maps()
	must(t, err)
	exe, _ := p.Exe()
	var text raw.Mapping
	for _, m := range maps {
		if m.Path == exe && m.Perms&raw.Exec != 0 {
			text = m
		}
	}
	if text.Len() == 0 {
		t.Fatal("no text mapping found")
	}
	at := text.Start + 0x10 // in _init and the PLT: not executed any more
	old := make([]byte, 5)
	stop(t, p, func(w *World) error {
		if err := w.ReadMem(at, old); err != nil {
			return err
		}
		return w.WriteText(at, []byte{^old[0], ^old[1], old[2], ^old[3], ^old[4]})
	})
	d, err := p.DiffText()
	must(t, err)
	want := []Diff{{Addr: at, Bytes: 2, Path: text.Path}, {Addr: at + 3, Bytes: 2, Path: text.Path}}
	if len(d) != 2 || d[0] != want[0] || d[1] != want[1] {
		t.Errorf("differences %v, want %v", d, want)
	}
	if err := p.WriteData(at, old); err == nil {
		t.Error("WriteData wrote to text")
	}
	stop(t, p, func(w *World) error { return w.WriteText(at, old) })
	if d, err := p.DiffText(); err != nil || len(d) != 0 {
		t.Errorf("restored target: %v, %v", d, err)
	}
	var we *raw.WriteError
	_, err = p.Stop(context.Background(), StopOptions{}, func(w *World) error { return w.WriteText(0x10, old) })
	if !errors.As(err, &we) || we.Addr != 0x10 {
		t.Errorf("write to unmapped memory: %v", err)
	}
	if res := tg.finish(); res["bad"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}
