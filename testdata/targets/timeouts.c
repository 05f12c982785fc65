/* Waits again and again, a thread for each way to wait and each length, for what never comes. A wait that is too short, or that ends
 * otherwise than by its time, is bad; how late the latest of each kind was is a COUNT in microseconds.
 * timeouts [ms...] (200 1000 5000) */
#include "target.h"
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { MAX_LENGTHS = 4 };

struct wait {
	const char *kind;
	long ms;
	uint64_t count, latest_ns;
	pthread_t thread;
};

static void must(int ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

static struct timespec spec(long ms)
{
	return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

/* ends says that a call returned what its timeout gives. */
static void ends(const struct wait *w, long got, int error)
{
	if (error ? got != -1 || errno != error : got != 0)
		target_bad("%s %ld ms: %ld, %s", w->kind, w->ms, got, strerror(errno));
}

static int a_socket(long ms, int listening)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX}; /* the kernel names it */
	struct timeval t = {ms / 1000, ms % 1000 * 1000};
	int fd = socket(AF_UNIX, listening ? SOCK_STREAM : SOCK_DGRAM, 0);
	must(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0, "setsockopt");
	must(bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)) == 0 && (!listening || listen(fd, 1) == 0), "bind");
	return fd;
}

NOINLINE void wait_once(struct wait *w, int fd, aio_context_t aio)
{
	struct timespec t = spec(w->ms), end;
	struct timeval v = {w->ms / 1000, w->ms % 1000 * 1000};
	struct epoll_event e;
	struct io_event event;
	char byte;
	uint32_t word = 0;
	sigset_t none;
	sigemptyset(&none);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += w->ms / 1000, end.tv_nsec += w->ms % 1000 * 1000000;
	if (end.tv_nsec >= 1000000000)
		end.tv_sec++, end.tv_nsec -= 1000000000;
	if (!strcmp(w->kind, "epoll_wait"))
		ends(w, epoll_wait(fd, &e, 1, (int)w->ms), 0);
	else if (!strcmp(w->kind, "epoll_pwait"))
		ends(w, epoll_pwait(fd, &e, 1, (int)w->ms, &none), 0);
	else if (!strcmp(w->kind, "epoll_pwait2"))
		ends(w, epoll_pwait2(fd, &e, 1, &t, NULL), 0);
	else if (!strcmp(w->kind, "poll"))
		ends(w, poll(NULL, 0, (int)w->ms), 0);
	else if (!strcmp(w->kind, "select"))
		ends(w, select(0, NULL, NULL, NULL, &v), 0);
	else if (!strcmp(w->kind, "nanosleep"))
		ends(w, nanosleep(&t, NULL), 0);
	else if (!strcmp(w->kind, "futex"))
		ends(w, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0), ETIMEDOUT);
	else if (!strcmp(w->kind, "semtimedop"))
		ends(w, semtimedop(fd, &(struct sembuf){0, -1, 0}, 1, &t), EAGAIN);
	else if (!strcmp(w->kind, "sigtimedwait")) {
		sigaddset(&none, SIGRTMIN + 3);
		ends(w, sigtimedwait(&none, NULL, &t), EAGAIN);
	} else if (!strcmp(w->kind, "mq_timedreceive"))
		ends(w, mq_timedreceive(fd, &byte, 1, NULL, &end), ETIMEDOUT);
	else if (!strcmp(w->kind, "io_getevents"))
		ends(w, syscall(SYS_io_getevents, aio, 1L, 1L, &event, &t), 0);
	else if (!strcmp(w->kind, "recv"))
		ends(w, recv(fd, &byte, 1, 0), EAGAIN);
	else
		ends(w, accept(fd, NULL, NULL), EAGAIN);
}

static int prepare(const struct wait *w, aio_context_t *aio)
{
	if (!strncmp(w->kind, "epoll", 5))
		return epoll_create1(0);
	if (!strcmp(w->kind, "semtimedop")) // in a namespace of its own it ends with the program
		return unshare(CLONE_NEWIPC), semget(IPC_PRIVATE, 1, 0600);
	if (!strcmp(w->kind, "io_getevents"))
		return (int)syscall(SYS_io_setup, 1, aio);
	if (!strcmp(w->kind, "recv") || !strcmp(w->kind, "accept"))
		return a_socket(w->ms, w->kind[0] == 'a');
	if (!strcmp(w->kind, "mq_timedreceive")) {
		struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
		char name[64];
		snprintf(name, sizeof name, "/culprit-timeouts-%d-%ld", (int)getpid(), w->ms);
		int mq = mq_open(name, O_RDONLY | O_CREAT | O_EXCL, 0600, &attr);
		mq_unlink(name);
		return mq;
	}
	return 0;
}

static void *waiter(void *arg)
{
	struct wait *w = arg;
	aio_context_t aio = 0;
	int fd = prepare(w, &aio);
	must(fd >= 0, w->kind);
	while (!target_stopping) {
		uint64_t begin = target_now_ns();
		wait_once(w, fd, aio);
		uint64_t took = target_now_ns() - begin, want = (uint64_t)w->ms * 1000000;
		/* times of sockets are counted in ticks of the kernel's clock, and real time may be set */
		if (took + (strchr("ram", w->kind[0]) ? 10000000 : 0) < want)
			target_bad("%s %ld ms ended after %.3f", w->kind, w->ms, (double)took / 1e6);
		if (!target_stopping && took > want && took - want > w->latest_ns)
			w->latest_ns = took - want;
		w->count++;
	}
	if (!strcmp(w->kind, "semtimedop"))
		semctl(fd, 0, IPC_RMID);
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "select", "nanosleep", "futex", "semtimedop",
					    "sigtimedwait", "mq_timedreceive", "io_getevents", "recv", "accept"};
	enum { KINDS = sizeof kinds / sizeof *kinds };
	static struct wait waits[KINDS * MAX_LENGTHS];
	long lengths[MAX_LENGTHS] = {200, 1000, 5000};
	int n = argc > 1 ? argc - 1 : 3;
	target_start();
	if (n > MAX_LENGTHS)
		target_bad("at most %d lengths", MAX_LENGTHS);
	for (int i = 1; i < argc; i++)
		lengths[i - 1] = target_arg(argc, argv, i, 200);
	for (int i = 0; i < KINDS * n; i++) {
		waits[i].kind = kinds[i / n], waits[i].ms = lengths[i % n];
		must(pthread_create(&waits[i].thread, NULL, waiter, &waits[i]) == 0, "pthread_create");
	}
	target_wait_stop();
	for (int i = 0; i < KINDS * n; i++) {
		char name[64];
		pthread_join(waits[i].thread, NULL);
		snprintf(name, sizeof name, "%s/%ld", waits[i].kind, waits[i].ms);
		target_count(name, waits[i].latest_ns / 1000);
	}
	return target_finish(target_mix(6, 6));
}
