/* A thread with every signal blocked that takes them from a signalfd, beside a timerfd and an eventfd, in one epoll loop. Another
 * queues signals with numbers; each must come exactly once and in order, no wait may fail. */
#include "target.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

static volatile uint64_t taken;
static uint64_t sent, ticks, pokes;
static int poke;

static void must(int ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

static int watch(int epoll, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.fd = fd}};
	must(fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
	return fd;
}

NOINLINE void take_signal(int fd)
{
	struct signalfd_siginfo si;
	must(read(fd, &si, sizeof si) == (ssize_t)sizeof si, "signalfd");
	if (si.ssi_signo != (uint32_t)SIGRTMIN || si.ssi_int != (int)(taken & 0xffffff))
		target_bad("signal %u with %d, wanted %d", si.ssi_signo, si.ssi_int, (int)(taken & 0xffffff));
	taken++;
}

NOINLINE uint64_t take_number(int fd)
{
	uint64_t n;
	must(read(fd, &n, sizeof n) == (ssize_t)sizeof n, "read");
	return n;
}

static void *loop(void *arg)
{
	struct itimerspec every = {{0, 1000000}, {0, 1000000}};
	sigset_t all;
	(void)arg;
	sigfillset(&all);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int signals = watch(epoll, signalfd(-1, &all, SFD_CLOEXEC)), timer = watch(epoll, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	watch(epoll, poke);
	must(timerfd_settime(timer, 0, &every, NULL) == 0, "timerfd_settime");
	while (!target_stopping || taken < sent) {
		struct epoll_event e[4];
		int n = epoll_wait(epoll, e, 4, 1000);
		must(n >= 0, "epoll_wait");
		for (int i = 0; i < n; i++) {
			if (e[i].data.fd == signals)
				take_signal(signals);
			else if (e[i].data.fd == timer)
				ticks += take_number(timer);
			else
				pokes += take_number(poke);
		}
	}
	return NULL;
}

NOINLINE void send_one(pthread_t to)
{
	union sigval v = {.sival_int = (int)(sent & 0xffffff)};
	uint64_t one = 1;
	sent++;
	while (pthread_sigqueue(to, SIGRTMIN, v) != 0)
		target_sleep_us(100); /* the queue is full */
	must(write(poke, &one, sizeof one) == (ssize_t)sizeof one, "eventfd");
}

int main(void)
{
	pthread_t t;
	sigset_t all, before;
	target_start();
	poke = eventfd(0, EFD_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	must(pthread_create(&t, NULL, loop, NULL) == 0, "pthread_create");
	sigdelset(&before, SIGRTMIN);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (!target_stopping) {
		for (int i = 0; i < 20; i++)
			send_one(t);
		target_poll(1);
	}
	uint64_t one = 1;
	must(write(poke, &one, sizeof one) == (ssize_t)sizeof one, "eventfd");
	pthread_join(t, NULL);
	if (taken != sent || pokes < sent || ticks == 0)
		target_bad("%llu of %llu signals, %llu pokes, %llu ticks", (unsigned long long)taken, (unsigned long long)sent,
			(unsigned long long)pokes, (unsigned long long)ticks);
	target_count("signals", sent);
	return target_finish(target_mix(6, 6));
}
