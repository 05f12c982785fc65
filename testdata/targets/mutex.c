/* Threads contend for the global mutex cache_lock, which lookup (called from serve) holds across slow work.
 * mutex [threads] [microseconds slept under the lock] [microseconds computed under the lock] */
#include "target.h"
#include <pthread.h>

enum { MAX_THREADS = 64 };
pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lookups; /* guarded by cache_lock */
static uint64_t served[MAX_THREADS];
static long sleep_us = 300, busy_us = 0;
static volatile int on = 1;

NOINLINE uint64_t compute(long us, uint64_t seed)
{
	uint64_t end = target_now_ns() + (uint64_t)us * 1000, h;
	do {
		h = seed;
		for (int i = 0; i < 100; i++)
			h = target_mix(h, (uint64_t)i);
	} while (target_now_ns() < end);
	return h;
}

NOINLINE uint64_t lookup(uint64_t key)
{
	pthread_mutex_lock(&cache_lock);
	lookups++;
	if (sleep_us)
		target_sleep_us(sleep_us);
	uint64_t v = compute(busy_us, key);
	pthread_mutex_unlock(&cache_lock);
	return v;
}

NOINLINE uint64_t serve(uint64_t key)
{
	return target_mix(lookup(key), compute(10, key));
}

static void *server(void *arg)
{
	uint64_t *mine = arg, first = 0;
	while (on) {
		uint64_t v = serve(12345);
		if (*mine && v != first)
			target_bad("hash differs");
		first = v;
		(*mine)++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[MAX_THREADS];
	target_start();
	int threads = (int)target_arg(argc, argv, 1, 6);
	sleep_us = target_arg(argc, argv, 2, sleep_us);
	busy_us = target_arg(argc, argv, 3, busy_us);
	if (threads < 1 || threads > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, server, &served[i]);
	target_wait_stop();
	on = 0;
	uint64_t sum = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += served[i];
	}
	if (sum != lookups)
		target_bad("%llu served, %llu looked up", (unsigned long long)sum, (unsigned long long)lookups);
	target_count("serve", sum);
	target_count("lookup", lookups);
	return target_finish(target_mix(12345, 1));
}
