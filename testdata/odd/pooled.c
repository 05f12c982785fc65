/* A program with little room on its stacks: threads on 16 KiB cut from one pool, below which it keeps data, while the main thread is deep
 * in its own. All of the pool and of the unused stacks is filled with known bytes, which the program looks at again and again.
 * pooled [arena]: the pool is taken from the heap that malloc has for another thread than the main one. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 4, STACK = 16 << 10, DATA = 96 << 10 };
static unsigned char *pool;
static volatile int stop_threads;

static unsigned char known(size_t i)
{
	return (unsigned char)(i * 7 + i / 251 + 3) | 1;
}

static void check(void)
{
	for (size_t i = 0; i < DATA; i++)
		if (pool[i] != known(i))
			target_bad("the program's own data is gone at %zu: %.16s", i, (char *)pool + i);
}

NOINLINE uint64_t work(uint64_t seed)
{
	uint64_t h = seed;
	__asm__ volatile("" : "+r"(h)); /* so that it is called each time */
	for (int i = 0; i < 2000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

static void *worker(void *arg)
{
	while (!stop_threads) {
		work((uint64_t)(size_t)arg);
		target_sleep_us(300);
	}
	return arg;
}

static void *from_arena(void *arg)
{
	*(void **)arg = malloc(DATA + THREADS * STACK + 4096);
	return NULL;
}

/* deep is called where little of the main thread's stack is left below. */
NOINLINE static int deep(void)
{
	pthread_t t[THREADS];
	for (long i = 0; i < THREADS; i++) {
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		if (pthread_attr_setstack(&attr, pool + DATA + i * STACK, STACK) || pthread_create(&t[i], &attr, worker, (void *)i))
			target_bad("pthread_create");
	}
	uint64_t hash = work(1);
	while (target_running()) {
		for (int i = 0; i < 20; i++)
			if (work(1) != hash)
				target_bad("hash differs");
		check();
		target_sleep_us(200);
	}
	stop_threads = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	check();
	return target_finish(hash);
}

NOINLINE static int descend(int n)
{
	volatile unsigned char here[4096];
	for (size_t i = 0; i < sizeof here; i++)
		here[i] = known(i);
	int status = n ? descend(n - 1) : deep();
	for (size_t i = 0; i < sizeof here; i++)
		if (here[i] != known(i))
			target_bad("a frame of main is not as it was");
	return status;
}

int main(int argc, char **argv)
{
	target_start();
	if (argc > 1 && strcmp(argv[1], "arena") == 0) {
		pthread_t t;
		if (pthread_create(&t, NULL, from_arena, &pool))
			target_bad("pthread_create");
		pthread_join(t, NULL);
	} else {
		pool = mmap(NULL, DATA + THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	pool = (unsigned char *)(((uintptr_t)pool + 15) & ~(uintptr_t)15);
	for (size_t i = 0; i < DATA + THREADS * STACK; i++)
		pool[i] = known(i);
	return descend(60);
}
