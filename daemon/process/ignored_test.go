package process

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ignoredSource has a thread that is within a transfer for ever, so that stops wait for it, and a main thread that waits again and again.
const ignoredSource = `
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <unistd.h>
static int ends[2];
static void *transfer(void *a) { static char b[1 << 20]; sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, 0); while (write(ends[1], b, sizeof b) > 0); return a; }
int main(void) { pthread_t t; struct epoll_event e = {.events = EPOLLIN}; long eintr = 0, waits = 0;
  if (pipe(ends)) return 1;
  pthread_create(&t, 0, transfer, 0); usleep(50000);
  int p = epoll_create1(0); epoll_ctl(p, EPOLL_CTL_ADD, 0, &e); puts("ready"); fflush(stdout);
  for (;;) { int n = epoll_wait(p, &e, 1, 100); waits++; if (n < 0) eintr++; if (n > 0) break; }
  printf("eintr %ld\nwaits %ld\n", eintr, waits); fflush(stdout); _exit(0); }
`

// TestIgnoredSignals: a signal that a program ignores does not break its waits, whether it comes before its threads are held or while they are.
func TestIgnoredSignals(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGWINCH, unix.SIGCHLD} {
		tg := start(t, compile(t, ignoredSource))
		p := open(t, tg.pid())
		done, gone := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(gone)
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					_ = unix.Tgkill(tg.pid(), tg.pid(), sig)
				}
			}
		}()
		for range 20 {
			stop(t, p, nothing)
		}
		close(done)
		<-gone
		if res := tg.finish(); res["eintr"] != 0 || res["waits"] == 0 {
			t.Errorf("%v: %v", sig, res)
		}
	}
}
