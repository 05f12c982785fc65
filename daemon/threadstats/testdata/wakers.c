// Threads that wait for one another, each in its own way. Says READY and, for each wait, the numbers of the thread that waits and of the one
// that ends its waits, 0 if none does, -1 if another one does each time: NAME WAITER WAKER.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static int items, word, nobodys, pipes[2], sockets[2], events, poller;
static volatile int waiters[16], wakers[16];

static int self(void) { return (int)syscall(SYS_gettid); }
static void nap(long us) { struct timespec t = {0, us * 1000}; nanosleep(&t, NULL); }

enum { CONDITION, PIPE, TCP, BARRIER, EPOLL, MUTEX, FUTEX, SIGNAL, JOIN, SLEEP, TIMED, POLLED, WAYS };
static const char *names[] = {"condition", "pipe", "tcp", "barrier", "epoll", "mutex", "futex", "signal", "join", "sleep", "timed", "polled"};

static void *nap_once(void *p) { nap(2000); return p; }

static void wait_once(int way) {
	char c; struct epoll_event e; uint64_t n; sigset_t usr1; pthread_t t;
	switch (way) {
	case CONDITION: pthread_mutex_lock(&lock); while (!items) pthread_cond_wait(&filled, &lock); items--; pthread_mutex_unlock(&lock); break;
	case PIPE: if (read(pipes[0], &c, 1) != 1) exit(1); break;
	case TCP: if (recv(sockets[0], &c, 1, 0) != 1) exit(1); break;
	case BARRIER: pthread_barrier_wait(&both); break;
	case EPOLL: if (epoll_wait(poller, &e, 1, -1) != 1 || read(events, &n, 8) != 8) exit(1); break;
	case MUTEX: nap(200); pthread_mutex_lock(&held); pthread_mutex_unlock(&held); break;
	case FUTEX: while (!__atomic_exchange_n(&word, 0, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL); break;
	case SIGNAL: sigemptyset(&usr1); sigaddset(&usr1, SIGUSR1); if (sigwaitinfo(&usr1, NULL) != SIGUSR1) exit(1); break;
	case JOIN: if (pthread_create(&t, NULL, nap_once, NULL) || pthread_join(t, NULL)) exit(1); break;
	case SLEEP: nap(2000); break;
	case TIMED: syscall(SYS_futex, &nobodys, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){0, 2000000}); break;
	case POLLED: poll(NULL, 0, 2); break;
	}
}

static void wake_once(int way) {
	uint64_t one = 1;
	if (way == MUTEX) { pthread_mutex_lock(&held); nap(2000); pthread_mutex_unlock(&held); nap(100); return; }
	nap(2000);
	switch (way) {
	case CONDITION: pthread_mutex_lock(&lock); items++; pthread_cond_signal(&filled); pthread_mutex_unlock(&lock); break;
	case PIPE: if (write(pipes[1], "x", 1) != 1) exit(1); break;
	case TCP: if (send(sockets[1], "x", 1, 0) != 1) exit(1); break;
	case BARRIER: pthread_barrier_wait(&both); break;
	case EPOLL: if (write(events, &one, 8) != 8) exit(1); break;
	case FUTEX: __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST); syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1); break;
	case SIGNAL: if (waiters[SIGNAL]) syscall(SYS_tgkill, getpid(), waiters[SIGNAL], SIGUSR1); break;
	}
}

// onFirst has the thread run on the first CPU only.
static void onFirst(void) { cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one); }

// inCalls is in a system call nearly always. Timers' interrupts come upon it.
static void *inCalls(void *p) { struct stat s; onFirst(); for (;;) if (stat("/proc/self/task", &s)) exit(1); return p; }

static void *waits(void *p) { int way = (int)(long)p; if (way == TIMED || way == POLLED) onFirst(); waiters[way] = self(); for (;;) wait_once(way); }
static void *wakes(void *p) { int way = (int)(long)p; wakers[way] = self(); for (;;) wake_once(way); }

// connection is a pair of sockets over the loopback device.
static void connection(int s[2]) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, 1) || getsockname(l, (struct sockaddr *)&a, &n)) exit(1);
	s[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(s[1], (struct sockaddr *)&a, sizeof a)) exit(1);
	s[0] = accept(l, NULL, NULL);
}

// alone tells that no thread of its own ends the waits of a way.
static int alone(int way) { return way == SLEEP || way == JOIN || way == TIMED || way == POLLED; }

int main(void) {
	pthread_t t;
	sigset_t usr1;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	struct epoll_event e = {.events = EPOLLIN};
	if (pipe(pipes)) return 1;
	connection(sockets);
	events = eventfd(0, 0);
	poller = epoll_create1(0);
	epoll_ctl(poller, EPOLL_CTL_ADD, events, &e);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, inCalls, NULL);
	for (long i = 0; i < WAYS; i++) {
		pthread_create(&t, NULL, waits, (void *)i);
		if (!alone((int)i)) pthread_create(&t, NULL, wakes, (void *)i);
	}
	for (int i = 0; i < WAYS; i++) while (!waiters[i] || (!alone(i) && !wakers[i])) nap(1000);
	for (int i = 0; i < WAYS; i++) printf("%s %d %d\n", names[i], waiters[i], i == JOIN ? -1 : wakers[i]);
	printf("READY\n");
	fflush(stdout);
	pause();
}
