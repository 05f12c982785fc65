// Cause: nothing is wrong: an event loop waits for its few clients and answers at once, and a batch thread works a little twice a second.
// Right: none

// An echo server with an event loop and a timer. A client process sends a
// line now and then. A second thread tidies up and sleeps in between.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CLIENTS 4

static unsigned long served, ticks;
static uint32_t cache[65536];

static void run_clients(int *fds)
{
	char line[64], answer[64];
	for (unsigned n = 0;; n++) {
		int len = snprintf(line, sizeof line, "hello %u\n", n);
		int fd = fds[n % CLIENTS];
		if (write(fd, line, (size_t)len) != len || read(fd, answer, sizeof answer) <= 0)
			_exit(0);
		usleep(20000);
	}
}

static void *tidy_up(void *arg)
{
	(void)arg;
	for (;;) {
		for (int i = 0; i < 65536; i++)
			cache[i] = cache[i] * 1664525u + 1013904223u;
		usleep(500000);
	}
	return NULL;
}

static void answer_client(int fd)
{
	char line[64];
	ssize_t n = read(fd, line, sizeof line);
	if (n <= 0 || write(fd, line, (size_t)n) != n)
		exit(1);
	served++;
}

int main(void)
{
	int ours[CLIENTS], theirs[CLIENTS];
	for (int i = 0; i < CLIENTS; i++) {
		int sv[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) != 0)
			return 1;
		ours[i] = sv[0];
		theirs[i] = sv[1];
	}
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < CLIENTS; i++)
			close(ours[i]);
		run_clients(theirs);
	}
	int ep = epoll_create1(0);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec every = {{0, 100000000}, {0, 100000000}};
	timerfd_settime(timer, 0, &every, NULL);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = timer};
	epoll_ctl(ep, EPOLL_CTL_ADD, timer, &ev);
	for (int i = 0; i < CLIENTS; i++) {
		close(theirs[i]);
		ev.data.fd = ours[i];
		epoll_ctl(ep, EPOLL_CTL_ADD, ours[i], &ev);
	}
	pthread_t t;
	if (pthread_create(&t, NULL, tidy_up, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event got[8];
		int n = epoll_wait(ep, got, 8, -1);
		for (int i = 0; i < n; i++) {
			if (got[i].data.fd == timer) {
				uint64_t expired;
				if (read(timer, &expired, sizeof expired) == sizeof expired)
					ticks += expired;
			} else {
				answer_client(got[i].data.fd);
			}
		}
	}
}
