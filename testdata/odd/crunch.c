/* An ordinary program of a few functions and threads, for places that are odd: another linking, a debugger, a namespace, a full disk. */
#include "target.h"
#include <pthread.h>

#define THREADS 2

static uint64_t hashes[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE uint64_t leaf(uint64_t h, uint64_t i) { return target_mix(h, i); }

NOINLINE uint64_t branch(uint64_t h)
{
	for (uint64_t i = 0; i < 100; i++)
		h = leaf(h, i);
	return h;
}

NOINLINE uint64_t tree(void)
{
	uint64_t h = 0;
	for (int i = 0; i < 100; i++)
		h = branch(h);
	return h;
}

NOINLINE void share(long i, uint64_t h)
{
	pthread_mutex_lock(&lock);
	if (hashes[i] && h != hashes[i])
		target_bad("thread %ld: another result", i);
	hashes[i] = h;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	while (!target_stopping) {
		share((long)(intptr_t)arg, tree());
		if (arg)
			target_sleep_us(200);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	target_start();
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (hashes[0] != hashes[1])
		target_bad("the threads differ");
	return target_finish(hashes[0]);
}
