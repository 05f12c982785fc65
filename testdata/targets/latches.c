/* Workers take requests from sockets, wait for one row that another has, each by a latch of its own (an eventfd in an epoll descriptor), and
 * work on it for a while: PostgreSQL's way to wait for a row. Who has the row sleeps as if it waited for its client.
 * latches [microseconds with the row] */
#include "target.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define WORKERS 6

static long hold_us = 4000;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int waiting[WORKERS], waiters, held; /* a queue of workers */
static int latch[WORKERS], poller[WORKERS], requests[WORKERS][2];
static uint64_t done[WORKERS], row;
static volatile uint64_t parsed;

static void must(int ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

NOINLINE void wait_latch(int me)
{
	struct epoll_event e;
	uint64_t n;
	while (epoll_wait(poller[me], &e, 1, -1) < 0)
		must(errno == EINTR, "epoll_wait");
	must(read(latch[me], &n, sizeof n) == sizeof n, "latch");
}

NOINLINE void lock_row(int me)
{
	pthread_mutex_lock(&guard);
	int mine = !held;
	held = 1;
	if (!mine)
		waiting[waiters++] = me;
	pthread_mutex_unlock(&guard);
	if (!mine)
		wait_latch(me);
}

NOINLINE void unlock_row(void)
{
	uint64_t one = 1;
	pthread_mutex_lock(&guard);
	if (waiters > 0) {
		int next = waiting[0];
		memmove(waiting, waiting + 1, (size_t)--waiters * sizeof waiting[0]);
		must(write(latch[next], &one, sizeof one) == sizeof one, "set latch");
	} else
		held = 0;
	pthread_mutex_unlock(&guard);
}

NOINLINE void parse(uint64_t n)
{
	for (int i = 0; i < 20000; i++)
		parsed = target_mix(parsed, n);
}

NOINLINE void update_row(int me)
{
	lock_row(me);
	row++;
	target_sleep_us(hold_us);
	unlock_row();
}

NOINLINE void execute(int me, uint64_t n)
{
	parse(n);
	update_row(me);
	done[me]++;
}

NOINLINE int read_command(int me, uint64_t *n)
{
	struct pollfd p = {.fd = requests[me][0], .events = POLLIN};
	while (poll(&p, 1, -1) < 0)
		must(errno == EINTR, "poll");
	return read(requests[me][0], n, sizeof *n) == sizeof *n;
}

static void *worker(void *arg)
{
	int me = (int)(intptr_t)arg;
	uint64_t n;
	while (read_command(me, &n))
		execute(me, n);
	return NULL;
}

static void *driver(void *arg)
{
	while (!target_stopping) {
		for (uint64_t i = 0; i < WORKERS; i++)
			if (send(requests[i][1], &i, sizeof i, MSG_DONTWAIT) < 0)
				must(errno == EAGAIN, "send");
		target_sleep_us(2 * WORKERS * hold_us);
	}
	for (int i = 0; i < WORKERS; i++)
		shutdown(requests[i][1], SHUT_WR);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], d;
	sigset_t term;
	uint64_t all = 0;
	target_start();
	hold_us = target_arg(argc, argv, 1, hold_us);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	for (int i = 0; i < WORKERS; i++) {
		struct epoll_event e = {.events = EPOLLIN};
		int small = 1;
		latch[i] = eventfd(0, EFD_CLOEXEC);
		poller[i] = epoll_create1(EPOLL_CLOEXEC);
		must(epoll_ctl(poller[i], EPOLL_CTL_ADD, latch[i], &e) == 0, "epoll_ctl");
		must(socketpair(AF_UNIX, SOCK_STREAM, 0, requests[i]) == 0, "socketpair");
		setsockopt(requests[i][1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
		pthread_create(&workers[i], NULL, worker, (void *)(intptr_t)i);
	}
	pthread_create(&d, NULL, driver, NULL);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	target_wait_stop();
	pthread_join(d, NULL);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i], NULL);
		all += done[i];
	}
	if (row != all)
		target_bad("%llu updates of %llu", (unsigned long long)row, (unsigned long long)all);
	target_count("execute", all);
	return target_finish(target_mix(5, 5));
}
