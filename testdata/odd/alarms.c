/* SIGALRM ten thousand times a second, on an alternate stack, into a handler that works itself and saves errno. Two threads work
 * and one sleeps; no result of theirs may change, no system call may fail where SA_RESTART forbids it. */
#include "target.h"
#include <pthread.h>
#include <sys/time.h>

#define THREADS 3

static volatile uint64_t alarms;
static uint64_t handler_hash;
static uint64_t hashes[THREADS];

NOINLINE uint64_t churn(uint64_t h, int n)
{
	double d = 1;
	for (int i = 0; i < n; i++) {
		h = target_mix(h, (uint64_t)i);
		d = d * 1.0000001 + (double)(h & 7);
	}
	return h ^ (uint64_t)d;
}

static void on_alarm(int sig)
{
	int saved = errno;
	uint64_t h = churn((uint64_t)sig, 5), before = __atomic_exchange_n(&handler_hash, h, __ATOMIC_RELAXED);
	if (before && before != h)
		target_bad("the handler's work came out otherwise");
	__atomic_add_fetch(&alarms, 1, __ATOMIC_RELAXED);
	errno = saved;
}

NOINLINE uint64_t one_round(void)
{
	errno = 77;
	uint64_t h = churn(3, 400);
	if (errno != 77)
		target_bad("errno is %d", errno);
	return h;
}

static void alternate_stack(void)
{
	stack_t ss = {.ss_size = 64 << 10};
	ss.ss_sp = malloc(ss.ss_size);
	if (!ss.ss_sp || sigaltstack(&ss, NULL) != 0)
		target_bad("sigaltstack: %s", strerror(errno));
}

static void *work(void *arg)
{
	long i = (long)(intptr_t)arg;
	alternate_stack();
	while (!target_stopping) {
		uint64_t h = one_round();
		if (hashes[i] && h != hashes[i])
			target_bad("thread %ld: another result", i);
		hashes[i] = h;
		if (i == 0)
			target_sleep_us(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct itimerval every = {{0, 100}, {0, 100}};
	struct sigaction sa;
	target_start();
	alarm(0); /* SIGALRM is ours here: the end of the pipe ends us */
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_alarm;
	sa.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGALRM, &sa, NULL);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	alternate_stack();
	if (setitimer(ITIMER_REAL, &every, NULL) != 0)
		target_bad("setitimer: %s", strerror(errno));
	target_wait_stop();
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		if (hashes[i] != hashes[0])
			target_bad("thread %d: another result than the first's", i);
	}
	if (alarms == 0)
		target_bad("no alarm came");
	target_count("alarms", alarms);
	return target_finish(hashes[0]);
}
