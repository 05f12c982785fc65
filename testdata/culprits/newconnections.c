// Cause: a shop asks a quote server, on a connection of its own for each quote, and waits 40 ms for each answer, in fetch_quote().
// Right: ExcessiveIOBlockingTime at fetch_quote() and socket
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUOTE = 64 };

static struct sockaddr_in server = {.sin_family = AF_INET};
static volatile double total;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The quote server, no child of the shop: it ends when nobody asks for a while. */
static void serve(int listener)
{
	struct timeval patience = {5, 0};
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	for (;;) {
		char ask[QUOTE], quote[QUOTE];
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			_exit(0);
		if (recv(fd, ask, sizeof ask, MSG_WAITALL) == QUOTE) {
			struct timespec slow = {0, 40000000};
			nanosleep(&slow, NULL);
			snprintf(quote, sizeof quote, "%d", ask[0] * 3);
			send(fd, quote, sizeof quote, MSG_NOSIGNAL);
		}
		close(fd);
	}
}

__attribute__((noinline)) int fetch_quote(int item, char *quote)
{
	char ask[QUOTE] = {(char)item};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof server))
		fail("connect");
	int ok = send(fd, ask, sizeof ask, MSG_NOSIGNAL) == QUOTE && recv(fd, quote, QUOTE, MSG_WAITALL) == QUOTE;
	close(fd);
	return ok;
}

__attribute__((noinline)) void price_basket(const char *quote)
{
	double sum = 0;
	for (int i = 1; i < 400000; i++)
		sum += atoi(quote) / (double)i;
	total += sum;
}

int main(void)
{
	socklen_t len = sizeof server;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&server, sizeof server) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&server, &len))
		fail("listen");
	pid_t first = fork();
	if (first == 0) {
		if (fork() == 0)
			serve(listener);
		_exit(0);
	}
	waitpid(first, NULL, 0);
	close(listener);
	puts("ready");
	fflush(stdout);
	for (int item = 0;; item = (item + 1) % 100) {
		char quote[QUOTE] = {0};
		if (!fetch_quote(item, quote))
			fail("quote");
		quote[QUOTE - 1] = 0;
		price_basket(quote);
	}
}
