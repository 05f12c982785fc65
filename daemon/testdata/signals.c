/* Storms of signals: queued ones for whoever takes them, on alternate stacks, while functions run; with SA_RESTART to a thread that
 * reads, which must never see EINTR; without it to a thread that waits, which sees at most one for each. Threads that sleep and
 * that nobody signals see none. Each signal comes once, with its value.
 * COUNT stormed, restarted, interrupted. */
#include "target.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

enum { WORKERS = 2 };
static uint64_t sent[3], handled[3], sent_sum, handled_sum, eintr, passed;
static volatile int on = 1;
static volatile pid_t reader_tid, waiter_tid;
static int pipe_ends[2];

NOINLINE void on_storm(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	__atomic_fetch_add(&handled[0], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&handled_sum, (uint64_t)info->si_value.sival_int, __ATOMIC_RELAXED);
}

NOINLINE void on_restart(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled[1], 1, __ATOMIC_RELAXED);
}

NOINLINE void on_interrupt(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled[2], 1, __ATOMIC_RELAXED);
}

NOINLINE uint64_t step(uint64_t x)
{
	return target_mix(x, 19);
}

NOINLINE uint64_t walk(int n)
{
	uint64_t h = 1;
	while (n-- > 0)
		h = step(h);
	return h;
}

static void mask(int how, int sig)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(how, &set, NULL);
}

static void own_stack(void)
{
	stack_t alternate = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
	sigaltstack(&alternate, NULL);
}

static void *worker(void *arg)
{
	uint64_t want = walk(200);
	own_stack();
	mask(SIG_UNBLOCK, SIGRTMIN);
	while (on)
		if (walk(200) != want)
			target_bad("hash differs");
	mask(SIG_BLOCK, SIGRTMIN);
	return arg;
}

static void *reader(void *arg)
{
	char c;
	own_stack();
	reader_tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		ssize_t n = read(pipe_ends[0], &c, 1);
		if (n == 0)
			return arg;
		if (n < 0)
			target_bad("read with SA_RESTART: %s", strerror(errno));
		passed++;
	}
}

static void *waiter(void *arg)
{
	int e = epoll_create1(EPOLL_CLOEXEC);
	waiter_tid = (pid_t)syscall(SYS_gettid);
	while (on) {
		struct epoll_event event;
		if (epoll_wait(e, &event, 1, 20) < 0) {
			if (errno != EINTR)
				target_bad("epoll_wait: %s", strerror(errno));
			eintr++;
		}
	}
	return arg;
}

static void *sleeper(void *arg)
{
	while (on) {
		struct timespec ts = {0, 3000000};
		if (nanosleep(&ts, NULL) != 0)
			target_bad("nanosleep without a signal: %s", strerror(errno));
	}
	return arg;
}

static void *sender(void *arg)
{
	while (!reader_tid || !waiter_tid)
		target_sleep_us(100);
	for (int i = 0; on; i++) {
		union sigval v = {.sival_int = i % 1000};
		if (sigqueue(getpid(), SIGRTMIN, v) == 0)
			sent[0]++, sent_sum += (uint64_t)v.sival_int;
		if (i % 4 == 0 && handled[1] == sent[1]) /* one at a time: these are not queued */
			sent[1]++, syscall(SYS_tgkill, getpid(), reader_tid, SIGUSR1);
		if (i % 4 == 2 && handled[2] == sent[2])
			sent[2]++, syscall(SYS_tgkill, getpid(), waiter_tid, SIGUSR2);
		if (i % 8 == 0 && write(pipe_ends[1], "x", 1) != 1)
			target_bad("write: %s", strerror(errno));
		target_sleep_us(150);
	}
	return arg;
}

static void take(int sig, int flags, void (*plain)(int), void (*full)(int, siginfo_t *, void *))
{
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_flags = flags;
	if (full)
		sa.sa_sigaction = full;
	else
		sa.sa_handler = plain;
	sigaction(sig, &sa, NULL);
}

int main(void)
{
	pthread_t w[WORKERS], r, e, s, q;
	target_start();
	take(SIGRTMIN, SA_SIGINFO | SA_ONSTACK, NULL, on_storm);
	take(SIGUSR1, SA_RESTART | SA_ONSTACK, on_restart, NULL);
	take(SIGUSR2, 0, on_interrupt, NULL);
	mask(SIG_BLOCK, SIGRTMIN);
	if (pipe(pipe_ends) != 0)
		target_bad("pipe");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&w[i], NULL, worker, NULL);
	pthread_create(&r, NULL, reader, NULL);
	pthread_create(&e, NULL, waiter, NULL);
	pthread_create(&s, NULL, sleeper, NULL);
	pthread_create(&q, NULL, sender, NULL);
	target_wait_stop();
	on = 0;
	pthread_join(q, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(w[i], NULL);
	mask(SIG_UNBLOCK, SIGRTMIN); /* what is left of the queue is for this thread */
	for (int i = 0; i < 2000 && (handled[0] != sent[0] || handled[1] != sent[1] || handled[2] != sent[2]); i++)
		target_sleep_us(1000);
	pthread_join(e, NULL);
	pthread_join(s, NULL);
	close(pipe_ends[1]);
	pthread_join(r, NULL);
	for (int i = 0; i < 3; i++)
		if (handled[i] != sent[i])
			target_bad("%llu signals of kind %d sent, %llu handled", (unsigned long long)sent[i], i, (unsigned long long)handled[i]);
	if (handled_sum != sent_sum)
		target_bad("a signal came with another's value");
	if (eintr > sent[2])
		target_bad("%llu calls were interrupted by %llu signals", (unsigned long long)eintr, (unsigned long long)sent[2]);
	target_count("stormed", handled[0]);
	target_count("restarted", handled[1]);
	target_count("interrupted", handled[2]);
	target_count("eintr", eintr);
	target_count("passed", passed);
	return target_finish(walk(3));
}
