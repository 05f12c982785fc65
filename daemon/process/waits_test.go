package process

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
	"culprit/daemon/syscalls"
	"culprit/internal/require"
)

// noRestartSource goes under a filter that ends the process for restart_syscall, and waits again and again for 20 and for 900 ms in the
// call that its argument names. It prints how many waits were too short, how many gave something else, and the longest in ms.
const noRestartSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile int done; static volatile long waits, early, wrong, longest; static const char *how;
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static int once(long ms) { static int word; struct timespec t = {0, ms * 1000000};
  if (!strcmp(how, "poll")) return poll(0, 0, ms);
  if (!strcmp(how, "nanosleep")) return nanosleep(&t, 0);
  if (!strcmp(how, "clock")) return clock_nanosleep(CLOCK_REALTIME, 0, &t, 0);
  return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, 0, 0) == -1 && errno == ETIMEDOUT ? 0 : -1; }
static void *waiter(void *a) { long ms = (long)a; while (!done) { long t = now(); if (once(ms)) wrong++; t = now() - t; if (t < ms * 1000000) early++; if (t / 1000000 > longest) longest = t / 1000000; waits++; } return a; }
int main(int argc, char **argv) { char c; pthread_t t[2]; how = argv[1];
  struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
  struct sock_fprog p = {4, f}; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 1; prctl(PR_SET_DUMPABLE, 1);
  pthread_create(&t[0], 0, waiter, (void *)20); pthread_create(&t[1], 0, waiter, (void *)900);
  puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0); done = 1; pthread_join(t[0], 0); pthread_join(t[1], 0);
  printf("waits %ld\nearly %ld\nwrong %ld\nlongest %ld\n", waits, early, wrong, longest); return 0; }
`

// TestWaitsUnderFilter: a filter without restart_syscall ends nobody, no wait is too short, and none lasts for as long as stops come.
func TestWaitsUnderFilter(t *testing.T) {
	for _, how := range []string{"poll", "nanosleep", "clock", "futex"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tg := start(t, compile(t, noRestartSource), how)
			p := open(t, tg.pid())
			stops := 0
			for begin := time.Now(); time.Since(begin) < 4*time.Second; stops++ {
				stop(t, p, nothing)
				time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			}
			res := tg.finish()
			t.Logf("%d stops; target: %v", stops, res)
			if res["waits"] < 20 || res["early"] != 0 || res["wrong"] != 0 {
				t.Errorf("target: %v", res)
			}
			if resume.HighHalfIgnored() && res["longest"] > 2500 {
				t.Errorf("a wait of 900 ms lasted %d ms", res["longest"])
			}
		})
	}
}

// TestWaitsUnderFilterWithoutRights: who may not read the filter takes it for one that lets nothing pass that the program did not do itself.
func TestWaitsUnderFilterWithoutRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	cmd := exec.Command(compile(t, noRestartSource), "poll")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	tg := startCmd(t, cmd)
	for range 10 {
		if out := runAs(t, 65534, "mapper", tg.pid()); out == "" {
			t.Error("a call was made in spite of the filter")
		}
	}
	if res := tg.finish(); res["early"] != 0 || res["wrong"] != 0 || res["waits"] == 0 {
		t.Errorf("target: %v", res)
	}
}

// TestKilledUnderFilter: a tracer that is killed before it has put right what it broke into leaves nobody to such a filter, as it breaks into nothing.
func TestKilledUnderFilter(t *testing.T) {
	knowingTransfers(t)
	for _, how := range []string{"poll", "nanosleep", "clock", "futex"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tg := start(t, compile(t, noRestartSource), how)
			for _, point := range []string{"stop.one-seized", "stop.seized", "stop.interrupted", raw.LeftInCalls, "stop.stopped"} {
				for nth := range 3 {
					killVictim(t, tg, point, 1+nth, "transfers")
				}
			}
			if res := tg.finish(); res["waits"] == 0 || res["early"] != 0 || res["wrong"] != 0 {
				t.Errorf("target: %v", res)
			}
		})
	}
}

func init() { helpers["hog"] = hog }

// hog takes the first CPU for a while, before all that has no real-time priority.
func hog([]string) int {
	runtime.LockOSThread()
	if onFirstCPU() != nil || unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) != nil {
		return 1
	}
	os.Stdout.WriteString("on")
	for began := time.Now(); time.Since(began) < 850*time.Millisecond; { // the kernel gives the others 50 ms of each second
	}
	return 0
}

func onFirstCPU() error {
	var first unix.CPUSet
	first.Set(0)
	return unix.SchedSetaffinity(0, &first)
}

// TestClosedWithoutCPU: threads that were broken out of waits and get no CPU are waited for when the process is closed: a filter would end the program for
// what the kernel makes of their calls.
func TestClosedWithoutCPU(t *testing.T) {
	if os.Geteuid() != 0 || runtime.NumCPU() < 2 {
		t.Skip("needs root, to have a process with a real-time priority, and two CPUs")
	}
	bin := compile(t, noRestartSource)
	for range 3 {
		tg := onOneCPU(t, bin, "poll")
		p := open(t, tg.pid())
		stop(t, p, nothing)
		time.Sleep(100 * time.Millisecond)
		cmd := self("hog")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = out.Read(make([]byte, 2))
		must(t, err)
		var late *Deferred
		if _, err := p.Stop(t.Context(), StopOptions{Deadline: 20 * time.Millisecond}, nothing); !errors.As(err, &late) {
			t.Logf("the threads had a CPU: %v", err) // beside other tests
		}
		p.Close()
		must(t, cmd.Wait())
		if res := tg.finish(); res["waits"] == 0 || res["early"] != 0 || res["wrong"] != 0 {
			t.Errorf("target: %v", res)
		}
	}
}

// onOneCPU starts a target that may use the first CPU only.
func onOneCPU(t *testing.T, bin string, args ...string) (tg *target) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &all))
	must(t, onFirstCPU())
	defer func() { must(t, unix.SchedSetaffinity(0, &all)) }()
	return start(t, bin, args...)
}

// remainingSource waits for 600 ms, again and again, in the call that its argument names, for a pipe from which nothing comes. It prints how many waits
// were too short, gave something else, and left something in their sets, and the longest in ms.
const remainingSource = `
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile int done; static volatile long waits, early, wrong, kept, longest; static const char *how; static int pipes[2]; static aio_context_t aio;
static const struct timespec constant = {0, 600000000};
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static int sets(int r, fd_set *s) { if (FD_ISSET(pipes[0], s)) kept++; return r; }
static int once(void) { struct timespec t = constant; struct timeval v = {0, 600000}; struct pollfd p = {pipes[0], POLLIN, -1}; struct io_event e; fd_set s; FD_ZERO(&s); FD_SET(pipes[0], &s); int r;
  if (!strcmp(how, "io_pgetevents")) return syscall(SYS_io_pgetevents, aio, 1L, 1L, &e, &t, 0);
  if (!strcmp(how, "constant")) return syscall(SYS_ppoll, &p, 1, &constant, 0, 0);
  if (!strcmp(how, "pselect")) return sets(pselect(FD_SETSIZE, &s, 0, 0, &t, 0), &s);
  if (!strcmp(how, "select")) return sets(syscall(SYS_select, pipes[0] + 1, 0, &s, &s, &v), &s);
  r = ppoll(&p, 1, &t, 0); if (p.revents) kept++; return r; }
static void *waiter(void *a) { while (!done) { long t = now(); if (once()) wrong++; t = now() - t; if (t < 600000000) early++; if (t / 1000000 > longest) longest = t / 1000000; waits++; } return a; }
int main(int argc, char **argv) { char c; pthread_t t; how = argv[1]; if (pipe(pipes) || syscall(SYS_io_setup, 1, &aio)) return 1; if (!strcmp(how, "sticky")) personality(STICKY_TIMEOUTS);
  pthread_create(&t, 0, waiter, 0); puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0); done = 1; pthread_join(t, 0);
  printf("waits %ld\nearly %ld\nwrong %ld\nkept %ld\nlongest %ld\n", waits, early, wrong, kept, longest); return 0; }
`

// TestRestsInMemory: waits whose rest stands in memory are not late by the pauses amid them, never too short, and end as the kernel ends them.
func TestRestsInMemory(t *testing.T) {
	ends := knowingDeadlines(t)
	for _, how := range []string{"ppoll", "pselect", "select", "sticky", "constant", "io_pgetevents"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tg := start(t, compile(t, remainingSource), how)
			p := open(t, tg.pid())
			p.KnowDeadlines(ends)
			for begin := time.Now(); time.Since(begin) < 3*time.Second; time.Sleep(40 * time.Millisecond) {
				stop(t, p, func(*World) error {
					time.Sleep(20 * time.Millisecond)
					return nil
				})
			}
			res := tg.finish()
			t.Logf("%v", res)
			if res["waits"] < 4 || res["early"] != 0 || res["wrong"] != 0 || res["kept"] != 0 || res["longest"] > 740 { // 800 if the pauses were added
				t.Errorf("target: %v", res)
			}
		})
	}
}

// atEndSource has sixty threads wait in pselect for 20 to 60 ms, into which a signal comes from 2 ms before to 2 ms behind the end. One more waits with a
// set that it may read only by then. It prints in how many waits the signal's handler ran though the time was said to be over, how many came without
// their mask, and how many of the last kind gave anything but EFAULT.
const atEndSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile int done, again; static long waits, handled, unmasked, wrong; static __thread volatile int got; static int pipes[2]; static fd_set *volatile set;
static void handler(int s) { got = 1; }
static void *waiter(void *a) { unsigned seed = (long)a; timer_t id; struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1}; sigset_t none, now, usr1; struct timespec zero = {0, 0};
  e._sigev_un._tid = syscall(SYS_gettid); timer_create(CLOCK_MONOTONIC, &e, &id); sigemptyset(&none); sigemptyset(&usr1); sigaddset(&usr1, SIGUSR1);
  while (!done) { struct timespec t = {0, 20000000 + rand_r(&seed) % 40000000}; struct itimerspec at = {{0, 0}, {0, t.tv_nsec + (int)(rand_r(&seed) % 4000000) - 2000000}}, off = {{0, 0}, {0, 0}};
    got = 0; timer_settime(id, 0, &at, 0); int r = pselect(0, 0, 0, 0, &t, &none), ran = got; __sync_fetch_and_add(&waits, 1); if (!r && ran) __sync_fetch_and_add(&handled, 1);
    timer_settime(id, 0, &off, 0); pthread_sigmask(SIG_BLOCK, 0, &now); if (!sigismember(&now, SIGUSR1)) __sync_fetch_and_add(&unmasked, 1); sigtimedwait(&usr1, 0, &zero); }
  return a; }
static void *reader(void *a) { while (!done) { struct timeval t = {0, 30000}; mprotect(set, 4096, PROT_READ | PROT_WRITE); FD_ZERO(set); FD_SET(pipes[0], set); again = 1;
  int r = select(pipes[0] + 1, set, 0, 0, &t); if (r != -1 || errno != EFAULT || !FD_ISSET(pipes[0], set)) wrong++; } return a; }
static void *protector(void *a) { while (!done) { if (again) { again = 0; usleep(20000); mprotect(set, 4096, PROT_READ); } usleep(500); } return a; }
int main(void) { char c; pthread_t t[62]; sigset_t b; sigemptyset(&b); sigaddset(&b, SIGUSR1); sigprocmask(SIG_BLOCK, &b, 0); signal(SIGUSR1, handler);
  set = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); if (pipe(pipes)) return 1;
  for (long i = 0; i < 60; i++) pthread_create(&t[i], 0, waiter, (void *)i); pthread_create(&t[60], 0, reader, 0); pthread_create(&t[61], 0, protector, 0);
  puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0); done = 1; for (int i = 0; i < 62; i++) pthread_join(t[i], 0);
  printf("waits %ld\nhandled %ld\nunmasked %ld\nwrong %ld\n", waits, handled, unmasked, wrong); return 0; }
`

// TestWhatComesAtTheEnd: a wait whose time is over at a stop ends as the kernel ends it: a signal that came before gives EINTR, sets that the program may
// not write EFAULT, and the mask is the program's own again.
func TestWhatComesAtTheEnd(t *testing.T) {
	tg := start(t, compile(t, atEndSource))
	p := open(t, tg.pid())
	p.KnowDeadlines(knowingDeadlines(t))
	for begin := time.Now(); time.Since(begin) < 3*time.Second; time.Sleep(15 * time.Millisecond) {
		stop(t, p, nothing)
	}
	res := tg.finish()
	t.Logf("%v", res)
	if res["waits"] < 1000 || res["handled"] != 0 || res["unmasked"] != 0 || res["wrong"] != 0 {
		t.Errorf("target: %v", res)
	}
}

func knowingDeadlines(t *testing.T) *syscalls.Deadlines {
	t.Helper()
	require.Root(t)
	ends, err := syscalls.OpenDeadlines(syscalls.NewTypes())
	if err != nil {
		require.Skip(t, err.Error())
	}
	t.Cleanup(func() { ends.Close() })
	return ends
}
