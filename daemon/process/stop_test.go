package process

import (
	"testing"
	"time"
)

// blockedSource has one thread in each call that a stop may break with EINTR, and counts the EINTRs it sees.
// Two threads compute. One thread writes through an eventfd now and then so that epoll_wait also returns for a reason.
const blockedSource = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <errno.h>
#include <string.h>
#include <pthread.h>
#include <signal.h>
#include <poll.h>
#include <time.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <linux/futex.h>
static volatile int done;
static volatile long eintr, wrong, wakes, posted;
static int ev, sv[2], sem;
static void note(long r) { if (r < 0) { if (errno == EINTR) __sync_fetch_and_add(&eintr, 1); else if (errno != EAGAIN && errno != ETIMEDOUT) __sync_fetch_and_add(&wrong, 1); } }
static void *t_epoll(void *a) { int e = epoll_create1(0); struct epoll_event x = {.events = EPOLLIN};
  epoll_ctl(e, EPOLL_CTL_ADD, ev, &x);
  while (!done) { struct epoll_event o; int r = epoll_wait(e, &o, 1, 50); note(r);
    if (r == 1) { long v; if (read(ev, &v, 8) == 8) wakes += v; } } return 0; }
static void *t_epoll_inf(void *a) { int e = epoll_create1(0); struct epoll_event x = {.events = EPOLLIN}; int *p = a;
  epoll_ctl(e, EPOLL_CTL_ADD, *p, &x);
  while (!done) { struct epoll_event o; note(epoll_wait(e, &o, 1, -1)); } return 0; }
static void *t_sem(void *a) { while (!done) { struct sembuf b = {0, -1, 0}; struct timespec ts = {0, 50000000}; note(semtimedop(sem, &b, 1, &ts)); } return 0; }
static void *t_sigwait(void *a) { sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); while (!done) { struct timespec ts = {0, 50000000}; note(sigtimedwait(&s, 0, &ts)); } return 0; }
static void *t_recv(void *a) { struct timeval tv = {0, 50000}; setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv); char c; while (!done) note(recv(sv[0], &c, 1, 0)); return 0; }
static void *t_futex(void *a) { static int f; while (!done) { struct timespec ts = {0, 50000000}; note(syscall(SYS_futex, &f, FUTEX_WAIT_PRIVATE, 0, &ts, 0, 0)); } return 0; }
static void *t_nano(void *a) { while (!done) { struct timespec ts = {0, 50000000}; struct timespec b, e; clock_gettime(CLOCK_MONOTONIC, &b); note(nanosleep(&ts, 0)); clock_gettime(CLOCK_MONOTONIC, &e);
  if ((e.tv_sec - b.tv_sec) * 1000000000L + e.tv_nsec - b.tv_nsec < 50000000L) __sync_fetch_and_add(&wrong, 1); } return 0; }
static void *t_poll(void *a) { while (!done) { struct pollfd p = {sv[1], POLLIN, 0}; note(poll(&p, 1, 50)); } return 0; }
static void *t_ppoll(void *a) { while (!done) { struct pollfd p = {sv[1], POLLIN, 0}; struct timespec ts = {0, 50000000}; sigset_t m; sigemptyset(&m); note(ppoll(&p, 1, &ts, &m)); } return 0; }
static void *t_select(void *a) { while (!done) { fd_set s; FD_ZERO(&s); FD_SET(sv[1], &s); struct timeval tv = {0, 50000}; note(select(sv[1] + 1, &s, 0, 0, &tv)); } return 0; }
static void *t_post(void *a) { while (!done) { long one = 1; if (write(ev, &one, 8) == 8) posted++; usleep(3000); } return 0; }
static void *t_spin(void *a) { volatile long x = 0; while (!done) x++; return 0; }
int main(int argc, char **argv) {
  int never = eventfd(0, 0); ev = eventfd(0, 0); socketpair(AF_UNIX, SOCK_STREAM, 0, sv); unshare(CLONE_NEWIPC); sem = semget(IPC_PRIVATE, 1, 0600);
  sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); pthread_sigmask(SIG_BLOCK, &s, 0);
  void *(*f[])(void *) = {t_epoll, t_sem, t_sigwait, t_recv, t_futex, t_nano, t_poll, t_ppoll, t_select, t_post, t_spin};
  pthread_t th[16]; int n = sizeof f / sizeof *f;
  for (int i = 0; i < n; i++) pthread_create(&th[i], 0, f[i], 0);
  pthread_t inf; pthread_create(&inf, 0, t_epoll_inf, &never);
  puts("ready"); fflush(stdout);
  char c; while (read(0, &c, 1) > 0); done = 1;
  long one = 1; write(never, &one, 8);
  for (int i = 0; i < n; i++) pthread_join(th[i], 0);
  pthread_join(inf, 0);
  long v = 0; struct pollfd pf = {ev, POLLIN, 0}; if (poll(&pf, 1, 0) == 1 && read(ev, &v, 8) == 8) wakes += v;
  semctl(sem, 0, IPC_RMID);
  printf("eintr %ld\nwrong %ld\nlost %ld\nposted %ld\n", eintr, wrong, posted - wakes, posted); return 0; }
`

func TestStopIsInvisible(t *testing.T) {
	tg := start(t, compile(t, blockedSource))
	p := open(t, tg.pid())
	var total, worst time.Duration
	const rounds = 1000
	blocked := 0
	for range rounds {
		pause := stop(t, p, func(w *World) error {
			for _, th := range w.Threads() {
				if th.InSyscall {
					blocked++
				}
			}
			return nil
		})
		if pause.Threads != 13 {
			t.Fatalf("stopped %d threads, the target has 13", pause.Threads)
		}
		total += pause.Total
		worst = max(worst, pause.Total)
	}
	res := tg.finish()
	t.Logf("%d stops of 13 threads: mean %v, worst %v; %d threads broken out of calls; target: %v", rounds, total/rounds, worst, blocked, res)
	if blocked < rounds*5 {
		t.Errorf("only %d threads were in calls: the test did not test", blocked)
	}
	if res["eintr"] != 0 || res["wrong"] != 0 || res["lost"] != 0 || res["posted"] == 0 {
		t.Errorf("the target noticed: %v", res)
	}
}
