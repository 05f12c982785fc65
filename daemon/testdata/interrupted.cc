/* Threads whose timed waits are cut short by the program itself, in each way that there is: cancelled amid C++ frames, left by siglongjmp, ended
 * by signals with handlers, while others profile it with SIGPROF, fork, and wake each other. What a wait returns must have a reason in the
 * program: EINTR a handler that ran, an event somebody who made it, 0 a time that is over. "interrupted killed" counts what was EINTR for no reason:
 * whoever traces it is killed, and the kernel lets threads go as it has stopped them. */
#include "target.h"
#include <cxxabi.h>
#include <limits.h>
#include <mqueue.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum kind { EPOLL_WAIT, EPOLL_PWAIT, EPOLL_PWAIT2, POLL, NANOSLEEP, SIGTIMEDWAIT, RECV, MQ, CONDITION, SEMTIMEDOP, KINDS };

static const char *const names[KINDS] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "nanosleep", "sigtimedwait", "recv", "mq_timedreceive",
					 "pthread_cond_timedwait", "semtimedop"};
enum { LONG = 5000 }; /* ms of a wait that is cut short */

static thread_local volatile sig_atomic_t handled;
static thread_local sigjmp_buf out;
static uint64_t cancelled, left_by_jump, signalled, woken, over, forked, unexplained;
static bool killed;

static void must(bool ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

static timespec spec(long ms) { return {ms / 1000, ms % 1000 * 1000000}; }

/* A place has what a wait needs to wait in. */
struct place {
	int epoll, socket, mq, sem;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
};

static void make(place *p, long ms)
{
	sockaddr_un a = {};
	a.sun_family = AF_UNIX; /* the kernel names it */
	timeval t = {ms / 1000, ms % 1000 * 1000};
	mq_attr attr = {};
	attr.mq_maxmsg = attr.mq_msgsize = 1;
	char name[64];
	p->epoll = epoll_create1(0);
	p->socket = socket(AF_UNIX, SOCK_DGRAM, 0);
	must(setsockopt(p->socket, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0, "setsockopt");
	must(bind(p->socket, (sockaddr *)&a, sizeof(sa_family_t)) == 0, "bind");
	snprintf(name, sizeof name, "/culprit-interrupted-%d-%lx", (int)getpid(), (long)p);
	p->mq = mq_open(name, O_RDONLY | O_CREAT | O_EXCL, 0600, &attr);
	mq_unlink(name);
	p->sem = semget(IPC_PRIVATE, 1, 0600);
	must(p->epoll >= 0 && p->mq >= 0 && p->sem >= 0, "making a place to wait in");
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->condition, NULL);
}

static void leave(place *p)
{
	close(p->epoll), close(p->socket), mq_close(p->mq), semctl(p->sem, 0, IPC_RMID);
}

/* wait_in waits for what never comes: 0 if the time is over, else what errno says. */
NOINLINE int wait_in(place *p, int kind, long ms)
{
	timespec t = spec(ms), end;
	epoll_event e;
	char byte;
	sigset_t set;
	sigemptyset(&set);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += ms / 1000, end.tv_nsec += ms % 1000 * 1000000;
	if (end.tv_nsec >= 1000000000)
		end.tv_sec++, end.tv_nsec -= 1000000000;
	long got = 0;
	switch (kind) {
	case EPOLL_WAIT: got = epoll_wait(p->epoll, &e, 1, (int)ms); break;
	case EPOLL_PWAIT: got = epoll_pwait(p->epoll, &e, 1, (int)ms, &set); break;
	case EPOLL_PWAIT2: got = epoll_pwait2(p->epoll, &e, 1, &t, NULL); break;
	case POLL: got = poll(NULL, 0, (int)ms); break;
	case NANOSLEEP: got = nanosleep(&t, NULL); break;
	case SIGTIMEDWAIT: sigaddset(&set, SIGRTMIN + 3); got = sigtimedwait(&set, NULL, &t); break;
	case RECV: got = recv(p->socket, &byte, 1, 0); break;
	case MQ: got = mq_timedreceive(p->mq, &byte, 1, NULL, &end); break;
	case SEMTIMEDOP: {
		sembuf op = {0, -1, 0};
		got = semtimedop(p->sem, &op, 1, &t);
		break;
	}
	case CONDITION:
		pthread_mutex_lock(&p->mutex);
		pthread_cleanup_push([](void *m) { pthread_mutex_unlock((pthread_mutex_t *)m); }, &p->mutex);
		errno = pthread_cond_timedwait(&p->condition, &p->mutex, &end);
		got = errno ? -1 : 0;
		pthread_cleanup_pop(1);
		if (got == 0)
			errno = EINTR; /* it may wake for no reason */
		got = -1;
		break;
	}
	if (got == 0 || errno == EAGAIN || errno == ETIMEDOUT)
		return 0;
	if (got > 0)
		target_bad("%s: %ld, of what never comes", names[kind], got);
	return errno;
}

static void unreasonable(const char *what, double took)
{
	if (!killed)
		target_bad("%s: EINTR after %.3f ms, and no handler ran", what, took);
	__atomic_add_fetch(&unexplained, 1, __ATOMIC_RELAXED);
}

/* interrupted says that a wait which ended early has a reason. */
static bool interrupted(int kind, int why, int before, uint64_t began, long ms)
{
	double took = (double)(target_now_ns() - began) / 1e6;
	if (why == 0) {
		if (took + 10 < (double)ms) /* sockets count in ticks, and real time may be set */
			target_bad("%s %ld ms was over after %.3f", names[kind], ms, took);
		return false;
	}
	if (why != EINTR)
		target_bad("%s: %s", names[kind], strerror(why));
	if (handled == before && kind != CONDITION)
		unreasonable(names[kind], took);
	return true;
}

/* A cancellation goes through frames of C++ that clean up. */
struct cancellation {
	place at;
	int kind, unwound, cleaned;
};

struct cleaner {
	cancellation *c;
	~cleaner() { c->cleaned++; }
};

NOINLINE void *to_be_cancelled(void *arg)
{
	cancellation *c = (cancellation *)arg;
	cleaner clean = {c};
	try {
		for (;;)
			interrupted(c->kind, wait_in(&c->at, c->kind, LONG), -1, target_now_ns() - (uint64_t)LONG * 1000000, LONG);
	} catch (abi::__forced_unwind &) {
		c->unwound++;
		throw;
	}
}

/* canceller cancels one wait of each kind after the other. */
NOINLINE void *canceller(void *)
{
	cancellation c = {};
	make(&c.at, LONG);
	for (unsigned n = 0; !target_stopping; n++) {
		pthread_t thread;
		void *result;
		c.kind = (int)(n % SEMTIMEDOP); /* semtimedop is no place to be cancelled at */
		c.unwound = c.cleaned = 0;
		must(pthread_create(&thread, NULL, to_be_cancelled, &c) == 0, "pthread_create");
		target_sleep_us(20000 + n * 7919 % 150000);
		must(pthread_cancel(thread) == 0, "pthread_cancel");
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED || c.unwound != 1 || c.cleaned != 1)
			target_bad("%s: cancelled %d, unwound %d times, cleaned %d times", names[c.kind], result == PTHREAD_CANCELED, c.unwound, c.cleaned);
		cancelled++;
	}
	leave(&c.at);
	return NULL;
}

static void on_signal(int) { handled = handled + 1; }

static void on_jump(int)
{
	handled = handled + 1;
	siglongjmp(out, 1);
}

/* A waiter is a thread that waits again and again, and that others send signals to. */
struct waiter {
	pthread_t thread;
	int kind;
	bool jumps;
	volatile sig_atomic_t waiting;
};

static void out_of(waiter *w, place *p)
{
	if (sigsetjmp(out, 1) == 0) {
		w->waiting = 1;
		for (;;)
			wait_in(p, w->kind, LONG);
	}
	w->waiting = 0;
	__atomic_add_fetch(&left_by_jump, 1, __ATOMIC_RELAXED);
}

/* profile has this thread get SIGPROF now and then. One for the whole process would not do: a thread that is woken for it has its call end,
 * while another takes the signal. */
static timer_t profile(void)
{
	timer_t timer;
	sigevent to = {};
	to.sigev_notify = SIGEV_THREAD_ID;
	to.sigev_signo = SIGPROF;
	to._sigev_un._tid = gettid();
	itimerspec every = {spec(700), spec(700)};
	must(timer_create(CLOCK_MONOTONIC, &to, &timer) == 0 && timer_settime(timer, 0, &every, NULL) == 0, "timer_create");
	return timer;
}

NOINLINE void *waits(void *arg)
{
	waiter *w = (waiter *)arg;
	place p;
	make(&p, LONG);
	timer_t profiler = profile();
	while (!target_stopping) {
		if (w->jumps) {
			out_of(w, &p);
			continue;
		}
		int before = handled;
		uint64_t began = target_now_ns();
		w->waiting = 1;
		bool early = interrupted(w->kind, wait_in(&p, w->kind, LONG), before, began, LONG);
		w->waiting = 0;
		__atomic_add_fetch(early ? &signalled : &over, 1, __ATOMIC_RELAXED);
	}
	w->waiting = -1;
	timer_delete(profiler);
	leave(&p);
	return NULL;
}

/* wakes hands a number by eventfd to a thread that waits for it for years, as far as its call can say that. */
static int event;
static volatile uint64_t written;

NOINLINE void *wakes(void *)
{
	for (uint64_t n = 1; !target_stopping; n++) {
		target_sleep_us((long)(1000 + n * 7919 % 130000));
		__atomic_store_n(&written, n, __ATOMIC_SEQ_CST);
		must(write(event, &n, sizeof n) == sizeof n, "write");
		while (!target_stopping && __atomic_load_n(&written, __ATOMIC_SEQ_CST) != 0)
			target_sleep_us(500);
	}
	uint64_t last = UINT64_MAX - 1;
	must(write(event, &last, sizeof last) == sizeof last, "write");
	return NULL;
}

NOINLINE void *woken_by(void *)
{
	const timespec year = {365 * 86400, 0};
	int epoll = epoll_create1(0);
	epoll_event e = {}, got;
	e.events = EPOLLIN;
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &e) == 0, "epoll_ctl");
	for (unsigned turn = 0;; turn++) {
		uint64_t n = 0;
		pollfd p = {event, POLLIN, 0};
		int before = handled;
		int ready = turn % 3 == 0 ? epoll_wait(epoll, &got, 1, INT_MAX) : turn % 3 == 1 ? epoll_pwait2(epoll, &got, 1, &year, NULL) : ppoll(&p, 1, &year, NULL);
		if (ready < 0 && errno == EINTR) {
			if (handled == before)
				unreasonable("a wait of years", 0);
			continue;
		}
		if (ready != 1 || read(event, &n, sizeof n) != sizeof n)
			target_bad("a wait of years gave %d, %s", ready, strerror(errno));
		if (n > UINT64_MAX / 2)
			return NULL;
		if (n != __atomic_load_n(&written, __ATOMIC_SEQ_CST))
			target_bad("woken by %llu, %llu was written", (unsigned long long)n, (unsigned long long)written);
		woken++;
		__atomic_store_n(&written, 0, __ATOMIC_SEQ_CST);
	}
}

/* forks has children that wait, too, and that it waits for. */
NOINLINE void *forks(void *)
{
	while (!target_stopping) {
		pid_t pid = fork();
		if (pid == 0) {
			timespec t = spec(30);
			epoll_event e;
			int epoll = epoll_create1(0);
			_exit(nanosleep(&t, NULL) == 0 && epoll_wait(epoll, &e, 1, 20) == 0 && epoll_wait(epoll, &e, 1, 0) == 0 ? 23 : 1);
		}
		int status, got;
		while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
			;
		if (got != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 23)
			target_bad("a child: %d, status %x, %s", got, status, strerror(errno));
		forked++;
		target_sleep_us(50000);
	}
	return NULL;
}

/* computes, and sleeps until absolute times. */
NOINLINE void *computes(void *)
{
	uint64_t h = 1;
	while (!target_stopping) {
		for (int i = 0; i < 2000000; i++)
			h = target_mix(h, (uint64_t)i);
		timespec at;
		clock_gettime(CLOCK_MONOTONIC, &at);
		if ((at.tv_nsec += 30000000) >= 1000000000)
			at.tv_sec++, at.tv_nsec -= 1000000000;
		uint64_t end = (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		if (target_now_ns() < end)
			target_bad("an absolute sleep ended too early");
	}
	return h ? NULL : &event;
}

static void handle(int sig, void (*f)(int), int flags)
{
	struct sigaction sa = {};
	sa.sa_handler = f;
	sa.sa_flags = flags;
	must(sigaction(sig, &sa, NULL) == 0, "sigaction");
}

int main(int argc, char **argv)
{
	static waiter all[2 * KINDS];
	pthread_t others[6];
	void *(*const what[6])(void *) = {canceller, canceller, wakes, woken_by, forks, computes};
	target_start();
	killed = argc > 1 && strcmp(argv[1], "killed") == 0;
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_jump, 0);
	handle(SIGPROF, on_signal, SA_RESTART);
	event = eventfd(0, 0);
	for (int i = 0; i < 2 * KINDS; i++) {
		all[i].kind = i % KINDS, all[i].jumps = i >= KINDS && all[i].kind != CONDITION; /* out of that one the mutex would stay locked */
		must(pthread_create(&all[i].thread, NULL, waits, &all[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < 6; i++)
		must(pthread_create(&others[i], NULL, what[i], NULL) == 0, "pthread_create");
	for (unsigned n = 0; !target_stopping; n++) {
		target_poll(10);
		waiter *w = &all[n % (2 * KINDS)];
		if (w->waiting == 1)
			pthread_kill(w->thread, w->jumps ? SIGUSR2 : SIGUSR1);
	}
	for (int i = 0; i < 2 * KINDS; i++) {
		while (all[i].waiting != -1) {
			if (all[i].waiting == 1)
				pthread_kill(all[i].thread, all[i].jumps ? SIGUSR2 : SIGUSR1);
			target_sleep_us(1000);
		}
		pthread_join(all[i].thread, NULL);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(others[i], NULL);
	target_count("cancelled", cancelled);
	target_count("left_by_jump", left_by_jump);
	target_count("signalled", signalled);
	target_count("woken", woken);
	target_count("over", over);
	target_count("forked", forked);
	target_count("unexplained", unexplained);
	return target_finish(target_mix(22, 22));
}
