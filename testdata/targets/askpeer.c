/* Clients ask a server over TCP and wait for its answers in poll, below the function that asks; the server takes its time and waits for the next
 * question in poll as well.
 * askpeer [microseconds for each answer] [ask with epoll] */
#include "target.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define CLIENTS 3

static long answer_us = 20000, with_epoll;
static volatile int on = 1;
static struct sockaddr_in address = {.sin_family = AF_INET};
static uint64_t asked[CLIENTS], answered[CLIENTS];
static int listener;

static void must(int ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

static void transfer(ssize_t (*move)(int, void *, size_t), int fd, uint64_t *number)
{
	must(move(fd, number, sizeof *number) == sizeof *number, "transfer");
}

static ssize_t put(int fd, void *p, size_t n) { return write(fd, p, n); }

NOINLINE void wait_for_answer(int fd, int poller)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct epoll_event e;
	int n;
	do
		n = poller >= 0 ? epoll_wait(poller, &e, 1, 10000) : poll(&p, 1, 10000);
	while (n < 0 && errno == EINTR);
	must(n == 1, "no answer");
}

NOINLINE uint64_t ask(int fd, int poller, uint64_t question)
{
	uint64_t answer;
	transfer(put, fd, &question);
	wait_for_answer(fd, poller);
	transfer(read, fd, &answer);
	return answer;
}

static void *client(void *arg)
{
	uint64_t *mine = arg;
	int fd = socket(AF_INET, SOCK_STREAM, 0), poller = -1;
	must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
	if (with_epoll) {
		struct epoll_event e = {.events = EPOLLIN};
		poller = epoll_create1(EPOLL_CLOEXEC);
		must(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
	}
	while (on) {
		if (ask(fd, poller, *mine) != ~*mine)
			target_bad("a wrong answer");
		(*mine)++;
	}
	close(fd);
	return arg;
}

NOINLINE int next_question(int fd, uint64_t *question)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	while (poll(&p, 1, -1) < 0)
		must(errno == EINTR, "poll");
	return read(fd, question, sizeof *question) == sizeof *question;
}

static void *server(void *arg)
{
	uint64_t *mine = arg, question;
	int fd = accept(listener, NULL, NULL);
	must(fd >= 0, "accept");
	while (next_question(fd, &question)) {
		target_sleep_us(answer_us);
		question = ~question;
		transfer(put, fd, &question);
		(*mine)++;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], servers[CLIENTS];
	socklen_t size = sizeof address;
	sigset_t term;
	uint64_t hash = 5;
	target_start();
	answer_us = target_arg(argc, argv, 1, answer_us);
	with_epoll = target_arg(argc, argv, 2, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, CLIENTS) == 0, "listen");
	must(getsockname(listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
	sigemptyset(&term); /* only main takes SIGTERM */
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		pthread_create(&servers[i], NULL, server, &answered[i]);
		pthread_create(&clients[i], NULL, client, &asked[i]);
	}
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	target_wait_stop();
	on = 0;
	uint64_t questions = 0, answers = 0;
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i], NULL);
		questions += asked[i];
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(servers[i], NULL);
		answers += answered[i];
	}
	if (questions != answers)
		target_bad("%llu questions, %llu answers", (unsigned long long)questions, (unsigned long long)answers);
	target_count("ask", questions);
	return target_finish(target_mix(hash, 5));
}
