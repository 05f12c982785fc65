/* Threads whose stacks lie at ever new addresses, so that no two have the same thread pointer, a few at a time.
 * A millisecond passes from one few to the next.
 * stacks [threads in all] [at a time] */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

enum { MAX_AT_ONCE = 64, STACK = 64 << 10, REGION = 1 << 30 };
static uint64_t lived;

NOINLINE uint64_t short_life(uint64_t seed)
{
	uint64_t h = seed;
	for (int i = 0; i < 50; i++)
		h = target_mix(h, (uint64_t)i);
	__atomic_fetch_add(&lived, 1, __ATOMIC_RELAXED);
	return h;
}

/* leaves ends its thread with the frames of instrumented functions on the stack. */
NOINLINE void leaves(uint64_t h)
{
	if (h & 1)
		pthread_exit(NULL);
}

static void *body(void *arg)
{
	uint64_t h = short_life(9);
	*(uint64_t *)arg = h;
	leaves(lived);
	return NULL;
}

int main(int argc, char **argv)
{
	target_start();
	long total = target_arg(argc, argv, 1, 10000);
	int at_once = (int)target_arg(argc, argv, 2, 8);
	if (at_once < 1 || at_once > MAX_AT_ONCE)
		target_bad("at a time: 1 to %d", MAX_AT_ONCE);
	char *region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	target_wait_go();
	uint64_t hash = 0;
	long started = 0;
	for (long next = 0; started < total;) {
		pthread_t t[MAX_AT_ONCE];
		uint64_t result[MAX_AT_ONCE];
		char *stack[MAX_AT_ONCE];
		for (int i = 0; i < at_once; i++, started++) {
			pthread_attr_t attr;
			stack[i] = region + next % REGION;
			next += STACK;
			pthread_attr_init(&attr);
			pthread_attr_setstack(&attr, stack[i], STACK);
			if (pthread_create(&t[i], &attr, body, &result[i]) != 0)
				target_bad("pthread_create: %s", strerror(errno));
			pthread_attr_destroy(&attr);
		}
		for (int i = 0; i < at_once; i++) {
			pthread_join(t[i], NULL);
			madvise(stack[i], STACK, MADV_DONTNEED);
			if (hash && result[i] != hash)
				target_bad("hash differs");
			hash = result[i];
		}
		target_poll(0);
		target_sleep_us(1000);
	}
	target_count("short_life", lived);
	target_count("threads", (uint64_t)started);
	printf("DONE\n");
	target_wait_stop();
	return target_finish(hash);
}
