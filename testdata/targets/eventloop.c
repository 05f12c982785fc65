/* main and event_loop are entered before any probe can be there, and left only at the end. A pump thread makes
 * an event every millisecond; an interrupted epoll_wait without a signal of the program's own is an error.
 * eventloop [microseconds of work an event] */
#include "target.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int event_fd;
static long work_us = 300;
static volatile int pump_on = 1;
static uint64_t expected;

NOINLINE uint64_t handle_event(uint64_t seed)
{
	uint64_t end = target_now_ns() + (uint64_t)work_us * 1000, h;
	do {
		h = seed;
		for (int i = 0; i < 200; i++)
			h = target_mix(h, (uint64_t)i);
	} while (target_now_ns() < end);
	return h;
}

static void *pump(void *arg)
{
	uint64_t one = 1;
	while (pump_on) {
		target_sleep_us(1000);
		if (write(event_fd, &one, sizeof one) != sizeof one)
			target_bad("eventfd: %s", strerror(errno));
	}
	return arg;
}

NOINLINE uint64_t event_loop(int epoll_fd)
{
	uint64_t events = 0;
	while (!target_stopping) {
		struct epoll_event e[4];
		int n = epoll_wait(epoll_fd, e, 4, 1000);
		if (n < 0 && !(errno == EINTR && target_stopping))
			target_bad("epoll_wait: %s", strerror(errno));
		for (int i = 0; i < n; i++) {
			uint64_t got;
			if (e[i].data.fd == 0) {
				target_poll(0);
				if (!target_stdin_open)
					epoll_ctl(epoll_fd, EPOLL_CTL_DEL, 0, NULL);
				continue;
			}
			if (read(event_fd, &got, sizeof got) != sizeof got)
				target_bad("eventfd read: %s", strerror(errno));
			events++;
			if (handle_event(42) != expected)
				target_bad("hash differs");
		}
		target_beat();
	}
	return events;
}

int main(int argc, char **argv)
{
	pthread_t t;
	target_start();
	work_us = target_arg(argc, argv, 1, work_us);
	expected = handle_event(42);
	event_fd = eventfd(0, EFD_CLOEXEC);
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event in = {EPOLLIN, {.fd = 0}}, ev = {EPOLLIN, {.fd = event_fd}};
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &in) != 0)
		target_stdin_open = 0; /* a file or /dev/null cannot be waited for */
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &ev);
	pthread_create(&t, NULL, pump, NULL);
	uint64_t events = event_loop(epoll_fd);
	pump_on = 0;
	pthread_join(t, NULL);
	target_count("handle_event", events + 1);
	return target_finish(expected);
}
