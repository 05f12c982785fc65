// Cause: the first name server of the list is dead, so each look-up waits in select for its timeout (30 ms) in ask_server(),
// over 80 % of the time, before the second server is asked.
// Right: ExcessiveIOBlockingTime at ask_server()
// Right: ExcessiveIOBlockingTime at resolve_name()
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct query {
	uint32_t id;
	char name[60];
};

struct answer {
	uint32_t id;
	uint32_t address;
};

static struct sockaddr_in servers[2];
static volatile uint64_t visited;

static int bound_socket(struct sockaddr_in *a)
{
	socklen_t len = sizeof *a;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)a, sizeof *a) || getsockname(fd, (struct sockaddr *)a, &len)) {
		perror("bind");
		exit(1);
	}
	return fd;
}

/* The second server, no child of the program: it answers at once, and ends when nobody has the other end of a pipe. */
static void serve_names(int fd, int alive)
{
	struct query q;
	struct sockaddr_in from;
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = alive}};
	while (poll(p, 2, -1) >= 0 && !p[1].revents) {
		socklen_t len = sizeof from;
		if (recvfrom(fd, &q, sizeof q, 0, (struct sockaddr *)&from, &len) != sizeof q)
			continue;
		struct answer a = {q.id, 0x0a000000u | (q.id & 0xffff)};
		sendto(fd, &a, sizeof a, 0, (struct sockaddr *)&from, len);
	}
	_exit(0);
}

__attribute__((noinline)) int ask_server(int fd, const struct sockaddr_in *server, const struct query *q, struct answer *a)
{
	if (sendto(fd, q, sizeof *q, 0, (const struct sockaddr *)server, sizeof *server) != sizeof *q)
		return 0;
	struct timeval timeout = {0, 30000};
	for (;;) {
		fd_set readable;
		FD_ZERO(&readable);
		FD_SET(fd, &readable);
		if (select(fd + 1, &readable, NULL, NULL, &timeout) <= 0)
			return 0;
		if (recv(fd, a, sizeof *a, MSG_DONTWAIT) == sizeof *a && a->id == q->id)
			return 1;
	}
}

__attribute__((noinline)) uint32_t resolve_name(int fd, uint32_t id, const char *name)
{
	struct query q = {.id = id};
	struct answer a;
	snprintf(q.name, sizeof q.name, "%s", name);
	for (int i = 0; i < 2; i++)
		if (ask_server(fd, &servers[i], &q, &a))
			return a.address;
	return 0;
}

__attribute__((noinline)) uint64_t index_page(const char *name, uint32_t address)
{
	uint64_t h = address;
	for (int i = 0; i < 2000000; i++)
		h = (h ^ (unsigned char)name[i % 8]) * 1099511628211u;
	return h;
}

__attribute__((noinline)) void visit_host(int fd, uint32_t id)
{
	char name[32];
	snprintf(name, sizeof name, "host-%05u.example", id % 100000);
	uint32_t address = resolve_name(fd, id, name);
	visited += index_page(name, address) | 1;
}

int main(void)
{
	bound_socket(&servers[0]); /* the dead one: nobody reads what arrives */
	int second = bound_socket(&servers[1]);
	int alive[2];
	if (pipe(alive)) {
		perror("pipe");
		return 1;
	}
	pid_t child = fork();
	if (child == 0) {
		close(alive[1]);
		if (fork() == 0)
			serve_names(second, alive[0]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(second);
	close(alive[0]);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	puts("ready");
	fflush(stdout);
	for (uint32_t id = 1;; id++)
		visit_host(fd, id);
}
