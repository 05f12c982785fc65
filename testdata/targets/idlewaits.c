/* Threads that wait for work, for time or for something to happen, each in another way, with a little to do now and then: none of them
 * is a bottleneck. */
#include "target.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static volatile int on = 1;
static uint64_t served;
static int listening, epoll_fd, requests[2], ticks, quiet_pipe[2], events, inotify, datagrams, signals, queue_id, semaphore_fd;
static struct sockaddr_in address, datagram_address;

NOINLINE void serve(void)
{
	volatile uint64_t h = 0;
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, (uint64_t)i);
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
}

static void *in_accept(void *arg)
{
	while (on) {
		int fd = accept(listening, NULL, NULL);
		serve();
		close(fd);
	}
	return arg;
}

static void *in_epoll(void *arg)
{
	while (on) {
		struct epoll_event e;
		char c;
		if (epoll_wait(epoll_fd, &e, 1, -1) == 1 && recv(requests[0], &c, 1, 0) == 1)
			serve();
	}
	return arg;
}

/* The next ones wait in read. */
static void *in_read(void *arg)
{
	char text[4096];
	while (on) {
		if (read(*(int *)arg, text, sizeof text) <= 0)
			break;
		serve();
	}
	return arg;
}

static void *in_timerfd(void *arg) { return in_read(arg); }
static void *in_quiet_pipe(void *arg) { return in_read(arg); }
static void *in_eventfd(void *arg) { return in_read(arg); }
static void *in_inotify(void *arg) { return in_read(arg); }
static void *in_signalfd(void *arg) { return in_read(arg); }

static void *in_nanosleep(void *arg)
{
	while (on) {
		target_sleep_us(5000);
		serve();
	}
	return arg;
}

static void *in_recvfrom(void *arg)
{
	char text[64];
	while (on && recvfrom(datagrams, text, sizeof text, 0, NULL, NULL) > 0)
		serve();
	return arg;
}

static void *in_msgrcv(void *arg)
{
	struct {
		long type;
		char text[8];
	} m;
	while (on && msgrcv(queue_id, &m, sizeof m.text, 0, 0) >= 0)
		serve();
	return arg;
}

static void *in_sigwait(void *arg)
{
	sigset_t set;
	int sig;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (on && sigwait(&set, &sig) == 0)
		serve();
	return arg;
}

static void must(int ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

static void open_sockets(void)
{
	socklen_t size = sizeof address;
	address = datagram_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(bind(listening, (struct sockaddr *)&address, size) == 0 && listen(listening, 8) == 0, "listen");
	must(bind(datagrams, (struct sockaddr *)&datagram_address, size) == 0, "bind");
	must(getsockname(listening, (struct sockaddr *)&address, &size) == 0, "getsockname");
	must(getsockname(datagrams, (struct sockaddr *)&datagram_address, &size) == 0, "getsockname");
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) == 0, "socketpair");
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event in = {EPOLLIN, {.fd = requests[0]}};
	must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, requests[0], &in) == 0, "epoll_ctl");
}

static void open_others(void)
{
	struct itimerspec every = {{0, 10000000}, {0, 10000000}};
	sigset_t set;
	ticks = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	must(timerfd_settime(ticks, 0, &every, NULL) == 0 && pipe(quiet_pipe) == 0, "timerfd, pipe");
	events = eventfd(0, EFD_CLOEXEC);
	semaphore_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	inotify = inotify_init1(IN_CLOEXEC);
	must(inotify_add_watch(inotify, "/proc/self/comm", IN_ATTRIB) >= 0 || errno != 0, "inotify");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	queue_id = msgget(IPC_PRIVATE, 0600);
	must(events >= 0 && inotify >= 0 && signals >= 0 && queue_id >= 0, "eventfd, inotify, signalfd, msgget");
}

static void connect_once(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
	close(fd);
}

/* poke gives each something to do: often those for whom that is no sign of being busy, and rarely those that wait for somebody. */
static void poke(uint64_t turn)
{
	uint64_t one = 1;
	struct {
		long type;
		char text[8];
	} m = {1, "x"};
	connect_once();
	must(send(requests[1], "x", 1, 0) == 1, "send");
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR2);
	if (turn % 30 == 0) {
		must(write(quiet_pipe[1], "x", 1) == 1 && write(events, &one, sizeof one) == sizeof one, "write");
		must(sendto(datagrams, "x", 1, 0, (struct sockaddr *)&datagram_address, sizeof datagram_address) == 1, "sendto");
		must(msgsnd(queue_id, &m, sizeof m.text, 0) == 0, "msgsnd");
	}
}

int main(void)
{
	void *(*bodies[])(void *) = {in_accept, in_epoll, in_timerfd, in_quiet_pipe, in_eventfd, in_inotify, in_signalfd, in_nanosleep, in_recvfrom, in_msgrcv, in_sigwait};
	enum { N = sizeof bodies / sizeof *bodies };
	target_start();
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	open_sockets();
	open_others();
	void *args[N] = {NULL, NULL, &ticks, &quiet_pipe[0], &events, &inotify, &signals};
	pthread_t t[N];
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaddset(&set, SIGTERM); /* goes to the main thread only */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, bodies[i], args[i]);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	uint64_t next = 0;
	for (uint64_t turn = 1; !target_stopping; target_poll(20))
		if (target_now_ns() >= next) {
			poke(turn++);
			next = target_now_ns() + 100000000u;
		}
	msgctl(queue_id, IPC_RMID, NULL);
	target_count("served", served);
	return target_finish(target_mix(8, N)); /* its threads end with it */
}
