package process

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ignoredSource has threads that wait again and again, the main thread too, and one that has children. With an argument another one is within a
// transfer for ever, so that stops wait for it.
const ignoredSource = `
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
static int ends[2], done; static volatile long eintr, waits, children; static struct epoll_event in = {.events = EPOLLIN};
static void *transfer(void *a) { static char b[1 << 20]; sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, 0); while (write(ends[1], b, sizeof b) > 0); return a; }
static int waiting(int p, int ms) { struct epoll_event e; int n = epoll_wait(p, &e, 1, ms); __sync_fetch_and_add(&waits, 1); if (n < 0) __sync_fetch_and_add(&eintr, 1); return n; }
static void *waiter(void *a) { int p = epoll_create1(0); while (!done) waiting(p, 100); return a; }
static void *parent(void *a) { while (!done) { pid_t c = fork(); if (!c) { usleep(2000); _exit(0); } while (waitpid(c, 0, 0) < 0); children++; } return a; }
int main(int argc, char **argv) { (void)argv; pthread_t t[6]; int n = 0;
  if (pipe(ends)) return 1;
  for (; n < 4; n++) pthread_create(&t[n], 0, waiter, 0);
  pthread_create(&t[n++], 0, parent, 0); if (argc > 1) pthread_create(&t[n], 0, transfer, 0);
  usleep(50000); int p = epoll_create1(0); epoll_ctl(p, EPOLL_CTL_ADD, 0, &in); puts("ready"); fflush(stdout);
  while (waiting(p, 100) < 1);
  done = 1; for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
  printf("eintr %ld\nwaits %ld\nchildren %ld\n", eintr, waits, children); fflush(stdout); _exit(0); }
`

// inBetween is how many waits may be broken all the same, in a storm of thousands of signals: by one that comes to a thread in the microseconds in
// which it is attached and another one, which has begun to wait meanwhile, is not yet.
const inBetween = 2

// TestIgnoredSignals: signals that a program ignores do not break its waits, whenever they come while it is stopped again and again: one of its
// children has ended, somebody sends one to the process or to a thread.
func TestIgnoredSignals(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"transfer"}} {
		tg := start(t, compile(t, ignoredSource), args...)
		p := open(t, tg.pid())
		over := make(chan struct{})
		sent := make(chan int)
		go func() {
			n := 0
			for ; ; n++ {
				select {
				case <-over:
					sent <- n
					return
				case <-time.After(200 * time.Microsecond):
					_ = unix.Kill(tg.pid(), unix.SIGWINCH)
					_ = unix.Tgkill(tg.pid(), tg.pid(), unix.SIGURG)
				}
			}
		}()
		stops := 0
		for begin := time.Now(); time.Since(begin) < 3*time.Second; stops++ {
			stop(t, p, nothing)
			time.Sleep(time.Millisecond)
		}
		close(over)
		n, res := <-sent, tg.finish()
		t.Logf("%v: %d stops, %d signals, %v", args, stops, n, res)
		if res["eintr"] > inBetween || res["waits"] == 0 || res["children"] == 0 {
			t.Errorf("%v: %v", args, res)
		}
	}
}
