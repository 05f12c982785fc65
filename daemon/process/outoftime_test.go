package process

import (
	"testing"
	"time"
)

// outOfTimeSource has forty threads wait in the call that its argument names for 60 to 100 ms, while two more compute. It prints how many waits ended early,
// how many with something else than that their time was over, and how many were late by more than 40 ms.
const outOfTimeSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
enum { WAITERS = 40, COMPUTE = 2 };
static volatile int done; static long waits, early, wrong, late, longest; static const char *how;
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static int isOver(aio_context_t aio, int s, struct timespec t) { struct io_event e;
  if (!strcmp(how, "accept")) return accept(s, 0, 0) == -1 && errno == EAGAIN;
  if (!strcmp(how, "io_pgetevents")) return !syscall(SYS_io_pgetevents, aio, 1L, 1L, &e, &t, 0);
  return !syscall(SYS_io_getevents, aio, 1L, 1L, &e, &t); }
static void *waiter(void *a) { unsigned seed = (long)a; aio_context_t aio = 0; int s = socket(AF_INET, SOCK_STREAM, 0); if (syscall(SYS_io_setup, 1, &aio) || listen(s, 1)) exit(1);
  while (!done) { struct timespec t = {0, 60000000 + rand_r(&seed) % 40000000}; struct timeval v = {0, t.tv_nsec / 1000}; setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &v, sizeof v);
    long began = now(); if (!isOver(aio, s, t)) __sync_fetch_and_add(&wrong, 1); long by = now() - began - v.tv_usec * 1000;
    __sync_fetch_and_add(&waits, 1); if (by < 0) __sync_fetch_and_add(&early, 1); if (by > 40000000) __sync_fetch_and_add(&late, 1); if (by > longest) longest = by; }
  return a; }
static void *computes(void *a) { while (!done) ; return a; }
int main(int argc, char **argv) { char c; pthread_t t[WAITERS + COMPUTE]; how = argv[1];
  for (long i = 0; i < WAITERS + COMPUTE; i++) pthread_create(&t[i], 0, i < WAITERS ? waiter : computes, (void *)i);
  puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0); done = 1; for (int i = 0; i < WAITERS + COMPUTE; i++) pthread_join(t[i], 0);
  printf("waits %ld\nearly %ld\nwrong %ld\nlate %ld\nlongest %ld\n", waits, early, wrong, late, longest / 1000); return 0; }
`

// TestOutOfTime: some calls say that they were interrupted also where their time was over before, which the thread had no CPU yet to see. They end then, and
// do not begin anew.
func TestOutOfTime(t *testing.T) {
	ends, know := knowingDeadlines(t), knowingTransfers(t)
	for _, how := range []string{"io_getevents", "io_pgetevents", "accept"} {
		t.Run(how, func(t *testing.T) {
			tg := start(t, compile(t, outOfTimeSource), how)
			p := open(t, tg.pid())
			p.KnowDeadlines(ends)
			p.KnowTransfers(know)
			stops := 0
			for begin := time.Now(); time.Since(begin) < 3*time.Second; time.Sleep(15 * time.Millisecond) {
				stop(t, p, nothing)
				stops++
			}
			res := tg.finish()
			t.Logf("%d stops: %v", stops, res)
			if res["waits"] < 1000 || res["early"] != 0 || res["wrong"] != 0 || res["late"] > 2 {
				t.Errorf("target: %v", res)
			}
		})
	}
}
