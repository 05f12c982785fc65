// Cause: the request workers wait in poll() for the answer of a slow backend, over a unix socket.
// Right: ExcessiveIOBlockingTime at ask_backend()
// Right: ExcessiveIOBlockingTime at socket
// Never: parse_request()
// Never: render_answer()

// A front end with three workers. For each request it asks a backend
// process, with a timeout, and renders what the backend said.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKERS 3

static int front[WORKERS], back[WORKERS];

// The backend answers one question after the other, each after 15 ms.
static void run_backend(void)
{
	struct pollfd p[WORKERS];
	char q[128], a[256];
	for (int i = 0; i < WORKERS; i++)
		p[i] = (struct pollfd){.fd = back[i], .events = POLLIN};
	while (poll(p, WORKERS, -1) > 0) {
		for (int i = 0; i < WORKERS; i++) {
			if (!(p[i].revents & (POLLIN | POLLHUP)))
				continue;
			ssize_t n = read(back[i], q, sizeof q - 1);
			if (n <= 0)
				_exit(0);
			q[n] = 0;
			usleep(15000);
			n = snprintf(a, sizeof a, "answer=%s", q);
			if (write(back[i], a, (size_t)n) != n)
				_exit(1);
		}
	}
	_exit(0);
}

__attribute__((noinline)) static int parse_request(unsigned seq, char *query, size_t size)
{
	char line[64];
	snprintf(line, sizeof line, "GET /item/%u HTTP/1.1", seq % 1000);
	char *p = strrchr(line, '/');
	while (p > line && p[-1] != '/')
		p--;
	return snprintf(query, size, "key:%s", p);
}

__attribute__((noinline)) static ssize_t ask_backend(int fd, const char *query, int len, char *answer, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	if (write(fd, query, (size_t)len) != len)
		return -1;
	if (poll(&p, 1, 2000) != 1) {
		fprintf(stderr, "backend timeout\n");
		return -1;
	}
	return read(fd, answer, size);
}

__attribute__((noinline)) static size_t render_answer(const char *answer, ssize_t len)
{
	char page[8192];
	size_t n = 0;
	for (int i = 0; i < 20; i++)
		n += (size_t)snprintf(page + n, sizeof page - n, "<p>%.*s</p>", (int)len, answer);
	return n;
}

static void *worker(void *arg)
{
	int fd = *(int *)arg;
	char query[128], answer[256];
	for (unsigned seq = 0;; seq++) {
		int len = parse_request(seq, query, sizeof query);
		ssize_t n = ask_backend(fd, query, len, answer, sizeof answer);
		if (n <= 0)
			exit(1);
		render_answer(answer, n);
	}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < WORKERS; i++) {
		int sv[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) != 0)
			return 1;
		front[i] = sv[0];
		back[i] = sv[1];
	}
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < WORKERS; i++)
			close(front[i]);
		run_backend();
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_t t;
		close(back[i]);
		if (pthread_create(&t, NULL, worker, &front[i]) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
