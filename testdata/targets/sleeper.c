/* Threads that are blocked in calls which a tracer's stop could interrupt: none of them may see EINTR,
 * and none may wait shorter or much longer than it asked for. */
#include "target.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>

enum { WAIT_MS = 200, SLACK_MS = 3000 };
static volatile int on = 1;
static uint64_t waits[8];

static void must_time_out(const char *what, int result, int wanted_errno, uint64_t since)
{
	uint64_t ms = (target_now_ns() - since) / 1000000;
	if (wanted_errno ? !(result < 0 && errno == wanted_errno) : result != 0)
		target_bad("%s: %d %s", what, result, strerror(errno));
	if (ms < WAIT_MS - 1 || ms > WAIT_MS + SLACK_MS)
		target_bad("%s waited %llu ms", what, (unsigned long long)ms);
}

static void *in_nanosleep(void *arg)
{
	while (on) {
		struct timespec ts = {0, WAIT_MS * 1000000L};
		uint64_t t = target_now_ns();
		must_time_out("nanosleep", nanosleep(&ts, NULL), 0, t);
		waits[0]++;
	}
	return arg;
}

static void *in_epoll(void *arg)
{
	int fd = epoll_create1(0);
	while (on) {
		struct epoll_event e;
		uint64_t t = target_now_ns();
		must_time_out("epoll_wait", epoll_wait(fd, &e, 1, WAIT_MS), 0, t);
		waits[1]++;
	}
	close(fd);
	return arg;
}

static void *in_sigtimedwait(void *arg)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (on) {
		struct timespec ts = {0, WAIT_MS * 1000000L};
		uint64_t t = target_now_ns();
		must_time_out("sigtimedwait", sigtimedwait(&set, NULL, &ts), EAGAIN, t);
		waits[2]++;
	}
	return arg;
}

static void *in_semtimedop(void *arg)
{
	unshare(CLONE_NEWIPC); // where it may, it ends with the program
	int id = semget(IPC_PRIVATE, 1, 0600);
	while (on && id >= 0) {
		struct sembuf take = {0, -1, 0};
		struct timespec ts = {0, WAIT_MS * 1000000L};
		uint64_t t = target_now_ns();
		must_time_out("semtimedop", semtimedop(id, &take, 1, &ts), EAGAIN, t);
		waits[3]++;
	}
	if (id >= 0)
		semctl(id, 0, IPC_RMID);
	return arg;
}

static void *in_recv(void *arg)
{
	int pair[2];
	struct timeval tv = {0, WAIT_MS * 1000};
	char c;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) != 0)
		target_bad("socketpair: %s", strerror(errno));
	while (on) {
		uint64_t t = target_now_ns();
		must_time_out("recv", (int)recv(pair[0], &c, 1, 0), EAGAIN, t);
		waits[4]++;
	}
	close(pair[0]);
	close(pair[1]);
	return arg;
}

static void *in_select(void *arg)
{
	while (on) {
		struct timeval tv = {0, WAIT_MS * 1000};
		uint64_t t = target_now_ns();
		must_time_out("select", select(0, NULL, NULL, NULL, &tv), 0, t);
		waits[5]++;
	}
	return arg;
}

int main(void)
{
	void *(*bodies[])(void *) = {in_nanosleep, in_epoll, in_sigtimedwait, in_semtimedop, in_recv, in_select};
	enum { N = sizeof bodies / sizeof *bodies };
	pthread_t t[N];
	sigset_t term;
	target_start();
	sigemptyset(&term); /* SIGTERM goes to the main thread only */
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, bodies[i], NULL);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	target_wait_stop();
	on = 0;
	uint64_t sum = 0;
	for (int i = 0; i < N; i++) {
		pthread_join(t[i], NULL);
		sum += waits[i];
	}
	target_count("waits", sum);
	return target_finish(target_mix(1, N));
}
