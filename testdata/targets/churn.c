/* Threads that live about a millisecond, a few at a time, thousands in the end.
 * churn [at a time] [microseconds of life] */
#include "target.h"
#include <pthread.h>

enum { MAX_AT_ONCE = 64 };
static long life_us = 1000;
static uint64_t lived, slept_ns;

NOINLINE uint64_t short_life(uint64_t seed)
{
	uint64_t h = seed;
	for (int i = 0; i < 200; i++)
		h = target_mix(h, (uint64_t)i);
	__atomic_fetch_add(&lived, 1, __ATOMIC_RELAXED);
	return h;
}

static void *body(void *arg)
{
	uint64_t h = short_life(9);
	uint64_t from = target_now_ns();
	target_sleep_us(life_us);
	__atomic_fetch_add(&slept_ns, target_now_ns() - from, __ATOMIC_RELAXED);
	*(uint64_t *)arg = h;
	return NULL;
}

int main(int argc, char **argv)
{
	target_start();
	int at_once = (int)target_arg(argc, argv, 1, 8);
	life_us = target_arg(argc, argv, 2, life_us);
	if (at_once < 1 || at_once > MAX_AT_ONCE)
		target_bad("at a time: 1 to %d", MAX_AT_ONCE);
	uint64_t started = 0, hash = 0;
	while (target_running()) {
		pthread_t t[MAX_AT_ONCE];
		uint64_t result[MAX_AT_ONCE];
		for (int i = 0; i < at_once; i++, started++)
			if (pthread_create(&t[i], NULL, body, &result[i]) != 0)
				target_bad("pthread_create: %s", strerror(errno));
		for (int i = 0; i < at_once; i++) {
			pthread_join(t[i], NULL);
			if (hash && result[i] != hash)
				target_bad("hash differs");
			hash = result[i];
		}
	}
	if (started != lived)
		target_bad("%llu started, %llu lived", (unsigned long long)started, (unsigned long long)lived);
	target_count("short_life", lived);
	return target_finish(target_mix(9, 9));
}
