// Cause: the workers of a front end wait in poll for a slow back end, about 95 % of each request, in query_backend().
// Right: ExcessiveIOBlockingTime at query_backend()
// Right: ExcessiveIOBlockingTime at await_reply()
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, MESSAGE = 256 };

static int connections[WORKERS];
static volatile uint64_t served;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The back end, no child of the front end: it answers after 8 ms, and ends with its connections. */
static void *answer(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[MESSAGE];
	while (recv(fd, buf, sizeof buf, MSG_WAITALL) == MESSAGE) {
		struct timespec slow = {0, 8000000};
		nanosleep(&slow, NULL);
		if (send(fd, buf, sizeof buf, MSG_NOSIGNAL) != MESSAGE)
			break;
	}
	return NULL;
}

static void run_backend(int listener)
{
	pthread_t t[WORKERS];
	struct timeval patience = {5, 0};
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	for (int i = 0; i < WORKERS; i++) {
		int fd = accept(listener, NULL, NULL), one = 1;
		if (fd < 0)
			_exit(1);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		pthread_create(&t[i], NULL, answer, (void *)(intptr_t)fd);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

__attribute__((noinline)) int await_reply(int fd, char *reply)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t have = 0;
	while (have < MESSAGE) {
		if (poll(&p, 1, 2000) <= 0)
			return -1;
		ssize_t n = recv(fd, reply + have, MESSAGE - have, MSG_DONTWAIT);
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return (int)have;
}

__attribute__((noinline)) int query_backend(int fd, uint64_t key, char *reply)
{
	char request[MESSAGE] = {0};
	snprintf(request, sizeof request, "GET /item/%llu", (unsigned long long)key);
	if (send(fd, request, sizeof request, MSG_NOSIGNAL) != MESSAGE)
		return -1;
	int n = await_reply(fd, reply);
	reply[MESSAGE - 1] = 0;
	return n;
}

__attribute__((noinline)) uint64_t render_page(const char *reply)
{
	uint64_t h = 14695981039346656037u;
	for (int round = 0; round < 12000; round++)
		for (const char *c = reply; *c; c++)
			h = (h ^ (unsigned char)*c) * 1099511628211u;
	return h;
}

__attribute__((noinline)) uint64_t handle_request(int fd, uint64_t key)
{
	char reply[MESSAGE];
	if (query_backend(fd, key, reply) < 0)
		exit(1);
	return render_page(reply);
}

static void *worker(void *arg)
{
	int fd = connections[(intptr_t)arg];
	for (uint64_t key = 1;; key++) {
		uint64_t page = handle_request(fd, key % 90 + 10);
		__atomic_fetch_add(&served, page | 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, WORKERS))
		fail("listen");
	getsockname(listener, (struct sockaddr *)&a, &len);
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		if (fork() == 0)
			run_backend(listener);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(listener);
	for (int i = 0; i < WORKERS; i++) {
		int one = 1;
		connections[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(connections[i], (struct sockaddr *)&a, sizeof a))
			fail("connect");
		setsockopt(connections[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	}
	pthread_t t[WORKERS];
	for (intptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
