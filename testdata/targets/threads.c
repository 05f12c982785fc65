/* A thousand threads that mostly sleep. Each works a little now and then.
 * threads [number] [milliseconds between works] */
#include "target.h"
#include <pthread.h>

enum { MAX_THREADS = 4096 };
static uint64_t rounds[MAX_THREADS];
static long period_ms = 500;
static volatile int on = 1;

NOINLINE uint64_t little_work(uint64_t seed)
{
	uint64_t h = seed;
	for (int i = 0; i < 300; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

static void *worker(void *arg)
{
	uint64_t *mine = arg, hash = little_work((uint64_t)(mine - rounds));
	while (on) {
		target_sleep_us(period_ms * 1000);
		if (little_work((uint64_t)(mine - rounds)) != hash)
			target_bad("hash differs");
		(*mine)++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t t[MAX_THREADS];
	pthread_attr_t attr;
	target_start();
	int n = (int)target_arg(argc, argv, 1, 1000);
	period_ms = target_arg(argc, argv, 2, period_ms);
	if (n < 1 || n > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &attr, worker, &rounds[i]) != 0)
			target_bad("pthread_create %d", i);
	target_wait_stop();
	on = 0;
	uint64_t sum = 0;
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		sum += rounds[i];
	}
	target_count("little_work", sum + (uint64_t)n);
	return target_finish(little_work(0));
}
