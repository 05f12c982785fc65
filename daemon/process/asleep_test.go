package process

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// asleepSource hands 1 MiB after the other to a named pipe until nobody takes them any more, in calls around which registers hold known values.
// "returns" counts the calls that came back, at the address that it hands over first. With "threads" another thread does so beside one that waits for
// signals again and again, 100 ms each time; "late" is by how many milliseconds the latest ended too late. With "vfork" it is one that cannot be stopped
// for some seconds. SIGUSR1 is "handled".
const asleepSource = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
enum { PIECE = 1 << 20 };
static char piece[PIECE];
static volatile long returns, shorts, changed, handled, late, done; static int fd;
static void handler(int sig) { (void)sig; __sync_fetch_and_add(&handled, 1); }
static void *hands(void *arg)
{
	for (;;) {
		register long b asm("rbx") = 0x1b1b1b1b1b1b1b1b, c asm("r12") = 0x1212121212121212, d asm("r13") = 0x1313131313131313, e asm("r14") = 0x1414141414141414;
		long n;
		asm volatile("syscall" : "=a"(n), "+r"(b), "+r"(c), "+r"(d), "+r"(e) : "a"(1), "D"(fd), "S"(piece), "d"(PIECE) : "rcx", "r11", "memory");
		returns++;
		changed += b != 0x1b1b1b1b1b1b1b1b || c != 0x1212121212121212 || d != 0x1313131313131313 || e != 0x1414141414141414;
		if (n < 0)
			break;
		shorts += n != PIECE;
	}
	done = 1;
	return arg;
}
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
static void *forks(void *arg)
{
	if (vfork() == 0) {
		struct timespec length = {4, 0};
		syscall(SYS_nanosleep, &length, NULL);
		_exit(0);
	}
	return arg;
}
static void *waits(void *arg)
{
	sigset_t set; struct timespec length = {0, 100000000};
	sigemptyset(&set), sigaddset(&set, SIGRTMIN);
	while (!done) {
		long began = now();
		sigtimedwait(&set, NULL, &length);
		if (now() - began - 100 > late)
			late = now() - began - 100;
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t a, b;
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &act, NULL), signal(SIGPIPE, SIG_IGN);
	fd = open(argv[1], O_WRONLY);
	volatile long *at = &returns;
	if (write(fd, &at, sizeof at) != sizeof at)
		return 1;
	puts("ready"), fflush(stdout);
	if (argc > 2) {
		pthread_create(&a, NULL, hands, NULL), pthread_create(&b, NULL, strcmp(argv[2], "vfork") ? waits : forks, NULL);
		pthread_join(a, NULL), pthread_join(b, NULL);
	} else
		hands(NULL);
	printf("returns %ld\nshorts %ld\nchanged %ld\nhandled %ld\nlate %ld\n", returns, shorts, changed, handled, late);
	return 0;
}
`

const asleepPiece = 1 << 20

// A sleeper is such a program, and the end of the pipe that it waits at.
type sleeper struct {
	*target
	pipe    *os.File
	returns raw.Addr
}

func startSleeper(t *testing.T, mode ...string) *sleeper {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, unix.Mkfifo(path, 0o600))
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // it opens without a program at the other end
	must(t, err)
	t.Cleanup(func() { pipe.Close() })
	s := &sleeper{pipe: pipe, target: start(t, compile(t, asleepSource), append([]string{path}, mode...)...)}
	var at [8]byte
	_, err = io.ReadFull(pipe, at[:])
	must(t, err)
	s.returns = raw.Addr(raw.Uint64(at[:]))
	return s
}

// take takes n pieces from the pipe.
func (s *sleeper) take(t testing.TB, n int) {
	t.Helper()
	b := make([]byte, 64<<10)
	for left := n * asleepPiece; left > 0; {
		k, err := s.pipe.Read(b[:min(left, len(b))])
		must(t, err)
		left -= k
	}
}

// returned is how many of its calls came back.
func (s *sleeper) returned(t testing.TB, p *Process) int {
	t.Helper()
	var b [8]byte
	must(t, p.ReadMem(s.returns, b[:]))
	return int(raw.Uint64(b[:]))
}

// sleeps waits until the program sleeps in its next call.
func (s *sleeper) sleeps(t testing.TB) { _ = s.writer(t) }

// writer is the thread that sleeps in such a call, once it does.
func (s *sleeper) writer(t testing.TB) (tid int) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		tids, _ := raw.Tasks(s.pid())
		for _, tid := range tids {
			if call, err := raw.BlockedIn(s.pid(), tid); err == nil && !call.Running && call.NR == unix.SYS_WRITE {
				return tid
			}
		}
	}
	t.Fatal("it never sleeps in a call")
	return 0
}

// ends lets nobody take anything any more and gives what the program says.
func (s *sleeper) ends() map[string]int64 {
	s.pipe.Close()
	return s.finish()
}

// TestAsleep: a thread that sleeps in a transfer is not stopped, is seen with its registers, and does not come back before it is let go, also when the
// call ends meanwhile. No call is cut, and waits beside it end in time.
func TestAsleep(t *testing.T) {
	know := knowingTransfers(t)
	s := startSleeper(t, "threads")
	p := open(t, s.pid())
	p.KnowTransfers(know)
	const rounds = 20
	cuts, began := 0, time.Now()
	for i := range rounds {
		s.sleeps(t)
		for range 5 { // the call goes on meanwhile
			cuts += stop(t, p, nothing).Cuts
		}
		pause := stop(t, p, func(w *World) error {
			s.seenAsleep(t, w)
			s.take(t, 1)
			time.Sleep(10 * time.Millisecond) // it could be back long since
			if n := s.returned(t, p); n != i {
				t.Errorf("%d calls came back within the stop, before it %d", n, i)
			}
			_, err := w.Syscall(unix.SYS_GETPID) // another thread makes it
			return err
		})
		cuts += pause.Cuts
		untraced(t, s.pid())
	}
	res := s.ends()
	t.Logf("%v, %d cuts told", res, cuts)
	if cuts != 0 || res["shorts"] > 1 || res["changed"] != 0 || res["returns"] != rounds+2 { // the end of the pipe cuts one, and refuses the next
		t.Errorf("calls were cut or harmed: %v, %d told", res, cuts)
	}
	if took := time.Since(began).Milliseconds(); res["late"] > max(500, took/3) { // without somebody who ends it, as long as there are stops
		t.Errorf("a wait beside it ended %d ms late", res["late"])
	}
}

// seenAsleep checks what a stop shows of the thread that sleeps.
func (s *sleeper) seenAsleep(t *testing.T, w *World) {
	t.Helper()
	for _, th := range w.Threads() {
		r := &th.Regs
		if r.Orig_rax != unix.SYS_WRITE {
			continue
		}
		if w.s.threads[th.TID].Phase != raw.Asleep || !th.InSyscall || r.Rbx != 0x1b1b1b1b1b1b1b1b || r.R12 != 0x1212121212121212 || r.R14 != 0x1414141414141414 {
			t.Errorf("phase %d, in a call: %v, %+v", w.s.threads[th.TID].Phase, th.InSyscall, r)
		}
		var b [8]byte
		if err := w.ReadMem(raw.Addr(r.Fs_base), b[:]); err != nil || raw.Uint64(b[:]) != r.Fs_base {
			t.Errorf("no thread block at %#x: %v", r.Fs_base, err)
		}
		return
	}
	t.Error("the thread that sleeps is not among those of the stop")
}

// TestAsleepAlone: where nobody else can make a call for us the thread is broken out of its own, and that is told.
func TestAsleepAlone(t *testing.T) {
	know := knowingTransfers(t)
	s := startSleeper(t)
	p := open(t, s.pid())
	p.KnowTransfers(know)
	s.sleeps(t)
	if pause := stop(t, p, nothing); pause.Cuts != 0 || pause.Threads != 1 || pause.Still != 0 {
		t.Errorf("%+v", pause)
	}
	pause := stop(t, p, func(w *World) error {
		pid, err := w.Syscall(unix.SYS_GETPID)
		if int(pid) != s.pid() {
			t.Errorf("getpid: %d", pid)
		}
		return err
	})
	if pause.Cuts != 1 || pause.Still != 1 {
		t.Errorf("%+v", pause)
	}
	if res := s.ends(); res["shorts"] < 1 || res["changed"] != 0 {
		t.Errorf("%v", res)
	}
}

// TestAsleepSignalled: a signal that the program handles ends the call as without us, and is handled once, behind the stop.
func TestAsleepSignalled(t *testing.T) {
	know := knowingTransfers(t)
	s := startSleeper(t)
	p := open(t, s.pid())
	p.KnowTransfers(know)
	const rounds = 10
	for i := range rounds {
		s.sleeps(t)
		_, err := io.ReadFull(s.pipe, make([]byte, 64<<10)) // a call that has moved nothing would be made again
		must(t, err)
		time.Sleep(5 * time.Millisecond)
		stop(t, p, func(w *World) error {
			must(t, unix.Kill(s.pid(), unix.SIGUSR1))
			time.Sleep(5 * time.Millisecond)
			if n := s.returned(t, p); n != i {
				t.Errorf("%d calls came back within the stop, before it %d", n, i)
			}
			return nil
		})
		for until := time.Now().Add(5 * time.Second); s.returned(t, p) == i && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
	}
	if res := s.ends(); res["handled"] != rounds || res["changed"] != 0 || res["shorts"] < rounds || res["shorts"] > rounds+1 {
		t.Errorf("%v", res)
	}
}

// TestAsleepBesideStuck: where another thread cannot be stopped a stop is given up. One that is left in its call is let go all the same: it handles a
// signal at once, whatever the other one does, and is not traced for longer than that one.
func TestAsleepBesideStuck(t *testing.T) {
	know := knowingTransfers(t)
	for _, signalled := range []bool{true, false} {
		s := startSleeper(t, "vfork")
		p := open(t, s.pid())
		p.KnowTransfers(know)
		writer := s.writer(t)
		if _, err := p.Stop(context.Background(), StopOptions{Deadline: 100 * time.Millisecond}, nothing); !errors.As(err, new(*raw.Deferred)) {
			t.Fatalf("a thread that waits for its child was stopped: %v", err)
		}
		_, err := io.ReadFull(s.pipe, make([]byte, 64<<10)) // a call that has moved nothing would be made again
		must(t, err)
		time.Sleep(5 * time.Millisecond)
		if signalled {
			s.handles(t, p, writer)
		}
		eventually(t, "a child that has ended", func() bool { return len(raw.PeersOf(s.pid())) == 0 })
		untraced(t, s.pid())
		if res := s.ends(); res["handled"] != 1 && signalled || res["changed"] != 0 || res["shorts"] > 1 && !signalled {
			t.Errorf("%v", res)
		}
	}
}

// handles sends the thread that sleeps a signal, which ends its call.
func (s *sleeper) handles(t *testing.T, p *Process, writer int) {
	t.Helper()
	sent := time.Now()
	must(t, unix.Tgkill(s.pid(), writer, unix.SIGUSR1))
	for s.returned(t, p) == 0 && time.Since(sent) < 5*time.Second {
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(sent); took > time.Second {
		t.Errorf("the call ended %v after the signal", took)
	}
}

// TestAsleepKilled: a program that is killed in a stop through which a thread of it sleeps keeps nobody waiting.
func TestAsleepKilled(t *testing.T) {
	know := knowingTransfers(t)
	for _, mode := range [][]string{nil, {"threads"}} {
		s := startSleeper(t, mode...)
		p := open(t, s.pid())
		p.KnowTransfers(know)
		s.sleeps(t)
		began := time.Now()
		_, err := p.Stop(context.Background(), StopOptions{Deadline: 5 * time.Second}, func(w *World) error {
			return unix.Kill(s.pid(), unix.SIGKILL)
		})
		waitDead(s.pid())
		_ = s.wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%v: the stop took %v (%v)", mode, took, err)
		}
		if _, err := p.Stop(context.Background(), StopOptions{}, nothing); err == nil {
			t.Error("a stop of a process that has ended")
		}
	}
}

// TestTracerKilledWhileAsleep kills a tracer at each of its fault points, with a thread asleep. The call goes on, and moves all it is to move.
func TestTracerKilledWhileAsleep(t *testing.T) {
	knowingTransfers(t)
	for i, point := range append([]string{raw.LeftInCalls, raw.LeftInCalls}, raw.FaultPoints...) {
		if point == "stop.broken-call" {
			continue // both threads are left in their calls
		}
		s := startSleeper(t, "threads")
		s.sleeps(t)
		killVictim(t, s.target, point, 1+i%3, "transfers")
		s.take(t, 2)
		s.sleeps(t)
		p := open(t, s.pid())
		stop(t, p, nothing) // it can still be stopped
		p.Close()
		if res := s.ends(); res["changed"] != 0 || res["returns"] != 3 && res["returns"] != 4 || res["shorts"] > 2 {
			t.Errorf("%s: %v", point, res)
		}
	}
}
