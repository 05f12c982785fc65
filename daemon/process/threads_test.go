package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// churnSource keeps starting threads that live 0.1 to 20 ms; each does a sum that is checked when it is joined.
const churnSource = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>
static volatile int done; static volatile long made, bad;
static void *work(void *a) { long n = (long)a; volatile unsigned long s = 0; for (long i = 0; i < n * 50; i++) s += i; usleep(100 + n * 20); return (void *)s; }
static void *maker(void *a) { unsigned seed = (long)a; while (!done) { pthread_t t[8]; long n[8];
    for (int i = 0; i < 8; i++) { n[i] = rand_r(&seed) % 1000; while (pthread_create(&t[i], 0, work, (void *)n[i])) usleep(100); }
    for (int i = 0; i < 8; i++) { void *r; pthread_join(t[i], &r); long k = n[i] * 50; if ((long)r != k * (k - 1) / 2) __sync_fetch_and_add(&bad, 1); __sync_fetch_and_add(&made, 1); } } return 0; }
int main() { pthread_t m[4]; for (long i = 0; i < 4; i++) pthread_create(&m[i], 0, maker, (void *)i);
  puts("ready"); fflush(stdout); char c; while (read(0, &c, 1) > 0); done = 1; for (int i = 0; i < 4; i++) pthread_join(m[i], 0);
  printf("made %ld\nbad %ld\n", made, bad); return 0; }
`

func TestThreadChurn(t *testing.T) {
	tg := start(t, compile(t, churnSource))
	p := open(t, tg.pid())
	begin := time.Now()
	var total, worst time.Duration
	rounds := 0
	for time.Since(begin) < 2*time.Second {
		pause := stop(t, p, func(w *World) error {
			tids, err := raw.Tasks(tg.pid())
			if err != nil {
				return err
			}
			for _, tid := range tids {
				if s := raw.ThreadState(tg.pid(), tid); s != 't' && !isDead(s) {
					t.Errorf("thread %d in state %c is not stopped", tid, s)
				}
			}
			_, err = w.Syscall(unix.SYS_GETPID)
			return err
		})
		total += pause.Total
		worst = max(worst, pause.Total)
		rounds++
		time.Sleep(time.Millisecond)
	}
	spent := time.Since(begin)
	untraced(t, tg.pid())
	res := tg.finish()
	t.Logf("%d stops, mean %v, worst %v, while %.0f threads a second were born; target: %v", rounds, total/time.Duration(rounds), worst, float64(res["made"])/spent.Seconds(), res)
	if res["bad"] != 0 || res["made"] < 200 {
		t.Errorf("target: %v", res)
	}
}

const crowdSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER; static int done, woken;
static void *w(void *a) { pthread_mutex_lock(&m); while (!done) pthread_cond_wait(&c, &m); woken++; pthread_mutex_unlock(&m); return 0; }
int main(int argc, char **argv) { int n = atoi(argv[1]); pthread_t *t = calloc(n, sizeof *t); pthread_attr_t at; pthread_attr_init(&at); pthread_attr_setstacksize(&at, 65536);
  for (int i = 0; i < n; i++) if (pthread_create(&t[i], &at, w, 0)) { perror("create"); return 1; }
  puts("ready"); fflush(stdout); char ch; while (read(0, &ch, 1) > 0);
  pthread_mutex_lock(&m); done = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);
  for (int i = 0; i < n; i++) pthread_join(t[i], 0); printf("woken %d\n", woken); return 0; }
`

func TestThousandThreads(t *testing.T) {
	tg := start(t, compile(t, crowdSource), "1000")
	p := open(t, tg.pid())
	var best, worst, total time.Duration = time.Hour, 0, 0
	const rounds = 20
	for range rounds {
		pause := stop(t, p, nothing)
		if pause.Threads != 1001 {
			t.Fatalf("stopped %d threads of 1001", pause.Threads)
		}
		best, worst, total = min(best, pause.Total), max(worst, pause.Total), total+pause.Total
	}
	t.Logf("1,001 threads: stop to release best %v, mean %v, worst %v", best, total/rounds, worst)
	if res := tg.finish(); res["woken"] != 1000 {
		t.Errorf("target: %v", res)
	}
}

// vforkSource: one thread is a vfork parent, suspended until its child ends; another one shows progress; more children follow.
const vforkSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>
#include <time.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
static volatile int done; static volatile long beats, bad;
static void *beat(void *a) { while (!done) { beats++; usleep(1000); } return 0; }
static void *parent(void *a) { pid_t p = vfork(); if (p == 0) { struct timespec ts = {1, 200000000}; while (nanosleep(&ts, &ts)); _exit(3); }
  int st; if (waitpid(p, &st, 0) != p || WEXITSTATUS(st) != 3) bad++; puts("ended"); fflush(stdout); return 0; }
int main(int argc, char **argv) { pthread_t b, v;
  if (argc > 1) { // a filter that lets everything pass
    struct sock_filter f[] = {{6, 0, 0, 0x7fff0000}}; struct sock_fprog all = {1, f};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all)) bad++; }
  pthread_create(&b, 0, beat, 0); puts("ready"); fflush(stdout); char c; long n;
  if (read(0, &c, 1) > 0) { pthread_create(&v, 0, parent, 0); while ((n = read(0, &c, 1)) > 0); if (n < 0) bad++; pthread_join(v, 0); }
  done = 1; pthread_join(b, 0); printf("bad %ld\nbeats %ld\n", bad, beats); return 0; }
`

// TestVforkUnderFilter: a thread that waits for its child of vfork is not left in that call: the child runs in the program's memory.
func TestVforkUnderFilter(t *testing.T) {
	know := knowingTransfers(t)
	tg := start(t, compile(t, vforkSource), "filter")
	p := open(t, tg.pid())
	p.KnowTransfers(know)
	tg.write(t, "x")
	eventually(t, "a thread in vfork", func() bool {
		threads, err := p.Threads()
		return err == nil && len(threads) == 3 && threads[2].State == 'D'
	})
	_, err := p.Stop(t.Context(), StopOptions{Deadline: 100 * time.Millisecond}, func(w *World) error {
		t.Errorf("the world was said to have stopped, with %d processes on its memory", w.Peers())
		return nil
	})
	if d := new(raw.Deferred); !errors.As(err, &d) || d.State != 'D' {
		t.Errorf("%v", err)
	}
	tg.expect("ended")
	if res := tg.finish(); res["bad"] != 0 || res["beats"] == 0 {
		t.Errorf("target: %v", res)
	}
}

func TestVforkParentIsDeferred(t *testing.T) {
	tg := start(t, compile(t, vforkSource))
	var h holds
	p := must2(OpenFor(tg.pid(), &h))
	t.Cleanup(func() { p.Close() })
	tg.write(t, "x")
	eventually(t, "a thread in vfork", func() bool {
		threads, err := p.Threads()
		return err == nil && len(threads) == 3 && threads[2].State == 'D'
	})
	const deadline = 100 * time.Millisecond
	begin := time.Now()
	pause, err := p.Stop(t.Context(), StopOptions{Deadline: deadline}, func(*World) error {
		t.Error("the world was said to have stopped")
		return nil
	})
	var d *raw.Deferred
	if !errors.As(err, &d) || d.State != 'D' || d.TID == tg.pid() || d.Waited < deadline {
		t.Fatalf("%v", err)
	}
	t.Logf("%v; gave up after %v, pause %v", d, time.Since(begin), pause.Total)
	if took := time.Since(begin); took > 4*deadline {
		t.Errorf("gave up only after %v", took)
	}
	// Everything else runs; the thread in vfork is still ours and is let go as soon as it wakes up.
	if begun, ended := h.seen(); begun != ended+1 {
		t.Errorf("one thread is attached to us, but the holder was told of %d begins and %d ends", begun, ended)
	}
	for _, th := range must2(p.Threads()) {
		if th.State == 't' {
			t.Errorf("thread %d is still stopped", th.TID)
		}
	}
	tg.expect("ended")
	untraced(t, tg.pid())
	eventually(t, "the holder to be told of the end", func() bool {
		begun, ended := h.seen()
		return begun == ended
	})
	stop(t, p, nothing)
	if res := tg.finish(); res["bad"] != 0 || res["beats"] < 100 {
		t.Errorf("target: %v", res)
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestContextEndsStop(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Stop(ctx, StopOptions{}, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	untraced(t, tg.pid())
	stop(t, p, nothing)
	if res := tg.finish(); res["eintr"] != 0 {
		t.Errorf("target: %v", res)
	}
}

// TestJobControl: a stopped job stays stopped, whatever is done to it, and goes on when it is told to.
func TestJobControl(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	must(t, p.Signal(unix.SIGSTOP))
	allIn := func(state byte) func() bool {
		return func() bool {
			for _, th := range must2(p.Threads()) {
				if th.State != state {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "all threads in T", allIn('T'))
	for range 50 {
		stop(t, p, func(w *World) error {
			_, err := w.Syscall(unix.SYS_GETPID)
			return err
		})
		eventually(t, "all threads in T again", allIn('T'))
	}
	must(t, p.Signal(unix.SIGCONT))
	eventually(t, "the target goes on", func() bool { return !anyIn(p, 'T') && !anyIn(p, 't') })
	// And stops that come while threads are being stopped.
	for i := range 100 {
		go func() { _ = p.Signal(unix.SIGSTOP) }()
		stop(t, p, nothing)
		eventually(t, fmt.Sprintf("all threads in T, round %d", i), allIn('T'))
		must(t, p.Signal(unix.SIGCONT))
	}
	res := tg.finish()
	if res["bad"] != 0 {
		t.Errorf("target: %v", res)
	}
}

func anyIn(p *Process, state byte) bool {
	threads, err := p.Threads()
	for _, th := range threads {
		if th.State == state {
			return true
		}
	}
	return err != nil
}

// execSource executes itself again and again, from the main thread or another one, while more threads run; then it works on and ends with 0.
const execSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pthread.h>
static volatile int done; static char left[16]; static char **av;
static void *spin(void *a) { volatile long x = 0; while (!done) x++; return 0; }
static void *nap(void *a) { while (!done) usleep(500); return 0; }
static void *go(void *a) { usleep(atoi(av[2])); execl("/proc/self/exe", av[0], left, av[2], av[3], NULL); perror("exec"); _exit(9); }
int main(int argc, char **argv) { av = argv; int n = atoi(argv[1]); pthread_t t[8];
  if (n == atoi(argv[3])) { puts("ready"); fflush(stdout); }
  for (int i = 0; i < 2; i++) { pthread_create(&t[2*i], 0, spin, 0); pthread_create(&t[2*i+1], 0, nap, 0); }
  snprintf(left, sizeof left, "%d", n - 1);
  if (n > 0) { if (n & 1) go(0); pthread_create(&t[4], 0, go, 0); for (;;) pause(); }
  char c; while (read(0, &c, 1) > 0); done = 1; for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  printf("end 1\n"); return 0; }
`

func TestExecInTheMiddle(t *testing.T) {
	const execs = 60
	tg := start(t, compile(t, execSource), itoa(execs), "3000", itoa(execs))
	seen, stops, deferred := 0, 0, 0
	ctx := t.Context()
	go func() { // which waits for every goroutine that runs, also for one that waits for the target without telling the runtime
		for ctx.Err() == nil {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
	for deadline := time.Now().Add(8 * time.Second); time.Now().Before(deadline); {
		p, err := Open(tg.pid())
		if err != nil {
			t.Fatal(err)
		}
		idle := 0
		for err == nil && idle < 300 {
			_, err = p.Stop(t.Context(), StopOptions{}, func(w *World) error {
				_, err := w.Syscall(unix.SYS_GETPID)
				return err
			})
			stops++
			idle++
			if errors.As(err, new(*raw.Deferred)) {
				if deferred++; deferred > 6 {
					t.Fatalf("%v: %s", err, describe(tg.pid()))
				}
				err = nil
			}
		}
		p.Close()
		if err == nil {
			break // no exec for 300 stops: it is through
		}
		if !errors.Is(err, ErrTargetExeced) {
			t.Fatalf("after %d stops: %v", stops, err)
		}
		seen++
	}
	t.Logf("%d stops, %d of %d execs met, %d deferred", stops, seen, execs, deferred)
	if seen < 3 {
		t.Error("the test met no exec")
	}
	untraced(t, tg.pid())
	if res := tg.finish(); res["end"] != 1 {
		t.Errorf("target: %v", res)
	}
}

// execOnceSource executes itself once when it is told to, from its youngest thread, which computes as others do and so is attached last.
const execOnceSource = `
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <pthread.h>
static char *name;
static void *spin(void *a) { volatile long x = 0; for (;;) x++; return 0; }
static void *last(void *a) { char c; fcntl(0, F_SETFL, O_NONBLOCK); puts("ready"); fflush(stdout); while (read(0, &c, 1) < 1); fcntl(0, F_SETFL, 0); execl("/proc/self/exe", name, "again", NULL); _exit(9); }
int main(int argc, char **argv) { pthread_t t; char c; name = argv[0]; if (argc > 1) { puts("end 1"); fflush(stdout); while (read(0, &c, 1) > 0); return 0; }
  for (int i = 0; i < 6; i++) pthread_create(&t, 0, i < 5 ? spin : last, 0); for (;;) pause(); }
`

// TestExecWhileAttaching: the exec waits for a thread that we have attached and must collect, while our next PTRACE_SEIZE waits for the exec.
func TestExecWhileAttaching(t *testing.T) {
	tg := start(t, compile(t, execOnceSource))
	p := open(t, tg.pid())
	seized := 0
	raw.Fault = func(point string) {
		if point != "stop.one-seized" {
			return
		}
		if seized++; seized == 3 {
			tg.write(t, "x")
			time.Sleep(50 * time.Millisecond)
		}
	}
	defer func() { raw.Fault = func(string) {} }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := p.Stop(ctx, StopOptions{Deadline: 3 * time.Second}, nothing)
		result <- err
	}()
	select {
	case err := <-result:
		if !errors.Is(err, ErrTargetExeced) {
			t.Errorf("%v", err)
		}
	case <-time.After(8 * time.Second):
		t.Fatalf("deadlock: %s", describe(tg.pid()))
	}
	untraced(t, tg.pid())
	if res := tg.finish(); res["end"] != 1 {
		t.Errorf("target: %v", res)
	}
}

const exitSource = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>
static void *spin(void *a) { volatile long x = 0; for (;;) x++; return 0; }
static void *nap(void *a) { for (;;) usleep(300); return 0; }
int main(int argc, char **argv) { pthread_t t; for (int i = 0; i < 8; i++) pthread_create(&t, 0, i & 1 ? spin : nap, 0);
  puts("ready"); fflush(stdout); usleep(atoi(argv[1])); _exit(7); }
`

func TestExitInTheMiddle(t *testing.T) {
	bin := compile(t, exitSource)
	met := 0
	for i := 0; i < 30 || i < 150 && met < 30; i++ { // a slow machine needs programs that live longer
		tg := start(t, bin, itoa(500+i*300))
		p, err := Open(tg.pid())
		for err == nil {
			_, err = p.Stop(t.Context(), StopOptions{}, func(w *World) error {
				_, err := w.Syscall(unix.SYS_GETPID)
				return err
			})
			met++
		}
		if !errors.Is(err, ErrTargetExited) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrZombie) && !errors.Is(err, errLeaderEnded) {
			t.Errorf("round %d: %v", i, err)
		}
		if p != nil {
			waitDone(t, p)
			p.Close()
		}
		if code := exitCode(tg.wait()); code != 7 {
			t.Errorf("round %d: exit code %d", i, code)
		}
	}
	if met < 30 {
		t.Errorf("only %d stops", met)
	}
}

func waitDone(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(5 * time.Second):
		t.Errorf("Done was not closed: %s", describe(p.PID()))
	}
}

func exitCode(err error) int {
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return ee.ExitCode()
	}
	return 0
}

// TestKilledWhileStopped: SIGKILL takes a target also out of a stop, and every operation then fails cleanly.
func TestKilledWhileStopped(t *testing.T) {
	for _, when := range raw.FaultPoints {
		if when == "stop.one-released" || when == "stop.broken-call" {
			continue
		}
		tg := start(t, compile(t, stateSource), "both")
		p := open(t, tg.pid())
		raw.Fault = func(point string) {
			if point == when {
				_ = unix.Kill(tg.pid(), unix.SIGKILL)
			}
		}
		_, err := p.Stop(t.Context(), StopOptions{Deadline: 2 * time.Second}, func(w *World) error {
			if _, err := w.Syscall(unix.SYS_GETPID); err != nil {
				return err
			}
			return passStderr(w)
		})
		raw.Fault = func(string) {}
		if err != nil && !errors.Is(err, ErrTargetExited) {
			t.Errorf("%s: %v", when, err)
		}
		waitDone(t, p)
		p.Close()
		if err := tg.wait(); exitCode(err) != -1 {
			t.Errorf("%s: %v", when, err)
		}
	}
}

// leaderSource: the main thread ends, the others go on.
const leaderSource = `
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <pthread.h>
static void *rest(void *a) { char c; while (read(0, &c, 1) > 0); puts("end 1"); fflush(stdout); exit(0); }
static void *spin(void *a) { volatile long x = 0; for (;;) x++; return 0; }
int main() { pthread_t t; pthread_create(&t, 0, rest, 0); pthread_create(&t, 0, spin, 0); puts("ready"); fflush(stdout); usleep(100000); pthread_exit(0); }
`

func TestLeaderEndsFirst(t *testing.T) {
	tg := start(t, compile(t, leaderSource))
	p := open(t, tg.pid())
	dead := 0
	for dead < 20 {
		stop(t, p, func(w *World) error {
			_, err := w.Syscall(unix.SYS_GETPID)
			return err
		})
		if raw.ThreadState(tg.pid(), tg.pid()) == 'Z' {
			dead++
		}
	}
	if maps, err := p.Maps(); err != nil || len(maps) == 0 {
		t.Errorf("maps without a leader: %d, %v", len(maps), err)
	}
	if _, err := Open(tg.pid()); !errors.As(err, new(*raw.Unsupported)) {
		t.Errorf("opening a process without a leader: %v", err)
	}
	if res := tg.finish(); res["end"] != 1 {
		t.Errorf("target: %v", res)
	}
}

// strayedSource makes child processes by a clone whose end is not told by SIGCHLD: the kernel attaches those to a tracer that asks for threads.
const straySource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sched.h>
#include <pthread.h>
#include <sys/wait.h>
#include <sys/syscall.h>
static volatile int done; static volatile long made, bad;
static void *maker(void *a) { while (!done) { long p = syscall(SYS_clone, 0, 0, 0, 0, 0); if (p == 0) { for (volatile int i = 0; i < 100000; i++); syscall(SYS_exit, 5); }
   int st; if (waitpid(p, &st, __WALL) != p || !WIFEXITED(st) || WEXITSTATUS(st) != 5) bad++; made++; } return 0; }
int main() { pthread_t t; pthread_create(&t, 0, maker, 0); puts("ready"); fflush(stdout); char c; while (read(0, &c, 1) > 0); done = 1; pthread_join(t, 0); printf("made %ld\nbad %ld\n", made, bad); return 0; }
`

func TestChildrenAreLetGo(t *testing.T) {
	tg := start(t, compile(t, straySource))
	p := open(t, tg.pid())
	for begin := time.Now(); time.Since(begin) < time.Second; {
		stop(t, p, nothing)
	}
	res := tg.finish()
	t.Logf("target: %v", res)
	if res["bad"] != 0 || res["made"] < 10 {
		t.Errorf("target: %v", res)
	}
}
