/* Threads that wait for "go", call a function some times each, and end at once: COUNT thr_TID CALLS. A thread that began with them stays.
 * With an argument the whole program ends with them. */
#include "target.h"
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 8 };
static pthread_barrier_t there, gone;
static int tids[THREADS];

NOINLINE uint64_t work(uint64_t n)
{
	uint64_t h = n;
	for (int i = 0; i < 20000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

static void *leaver(void *arg)
{
	int me = (int)(long)arg;
	tids[me] = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&there);
	pthread_barrier_wait(&gone);
	uint64_t h = 0;
	for (int i = 0; i < 10 * (me + 1); i++)
		h += work((uint64_t)i);
	return (void *)h;
}

static void *stayer(void *arg)
{
	pthread_barrier_wait(&there);
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS], rest;
	uint64_t hash = 0;
	target_start();
	pthread_barrier_init(&there, NULL, THREADS + 2);
	pthread_barrier_init(&gone, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, leaver, (void *)i);
	pthread_create(&rest, NULL, stayer, NULL);
	pthread_barrier_wait(&there);
	char name[32];
	for (int i = 0; i < THREADS; i++) {
		snprintf(name, sizeof name, "thr_%d", tids[i]);
		target_count(name, (uint64_t)(10 * (i + 1)));
	}
	target_wait_go();
	pthread_barrier_wait(&gone);
	for (int i = 0; i < THREADS; i++) {
		void *h;
		pthread_join(t[i], &h);
		hash += (uint64_t)h;
	}
	if (argc > 1)
		return 0;
	printf("DONE\n");
	fflush(stdout);
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
