/* Threads on stacks of 16 KiB that are cut from one pool without guards. Between two stacks, and below the lowest, lies data of the
 * program, which it looks at all the time. The main thread stands deep in its own stack. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

#define THREADS 8
#define STACK (16u << 10)
#define DATA (32u << 10)

static char *pool;
static uint64_t hashes[THREADS], rounds[THREADS];

static uint64_t pattern(size_t i) { return target_mix(9, i); }

static uint64_t *data_of(int i) { return (uint64_t *)(pool + (size_t)i * (STACK + DATA)); }

static void fill(int i)
{
	for (size_t k = 0; k < DATA / 8; k++)
		data_of(i)[k] = pattern(k);
}

NOINLINE void check(int i)
{
	for (size_t k = 0; k < DATA / 8; k++)
		if (data_of(i)[k] != pattern(k))
			target_bad("data below stack %d, %zu bytes below its end: %016llx", i, DATA - 8 * k, (unsigned long long)data_of(i)[k]);
}

NOINLINE uint64_t deep(uint64_t h, int n)
{
	volatile uint64_t here = h;
	if (n == 0)
		return target_mix(h, 1);
	uint64_t r = deep(target_mix(h, (uint64_t)n), n - 1);
	if (here != h)
		target_bad("a stack was written at depth %d", n);
	return target_mix(r, here);
}

static void *work(void *arg)
{
	int i = (int)(intptr_t)arg;
	while (!target_stopping) {
		uint64_t h = 0;
		for (int k = 0; k < 50; k++)
			h = deep(h, 40);
		if (hashes[i] && h != hashes[i])
			target_bad("thread %d: another result", i);
		hashes[i] = h;
		if (++rounds[i] % 16 == 0)
			check(i);
		if (i % 2)
			target_sleep_us(500);
	}
	return NULL;
}

NOINLINE int main_deep(int n)
{
	volatile char room[4096];
	memset((void *)(uintptr_t)room, n, sizeof room);
	if (n == 0)
		target_wait_stop();
	else
		main_deep(n - 1);
	return room[n];
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	target_start();
	pool = mmap(NULL, (size_t)THREADS * (STACK + DATA), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	for (int i = 0; i < THREADS; i++) {
		fill(i);
		pthread_attr_init(&attr);
		if (pthread_attr_setstack(&attr, (char *)data_of(i) + DATA, STACK) != 0 ||
		    pthread_create(&threads[i], &attr, work, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	}
	main_deep(100);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		check(i);
		if (hashes[i] != hashes[0])
			target_bad("thread %d: another result than the first's", i);
	}
	return target_finish(hashes[0]);
}
