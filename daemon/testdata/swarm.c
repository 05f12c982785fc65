/* A swarm of threads that live for 0.1 to 20 ms each, call a few small functions and end, as many as the machine can make, beside
 * others that stay. At most so many are alive at a time.
 * swarm [alive] [of them stay] [least us] [most us] */
#include "target.h"
#include <pthread.h>
#include <semaphore.h>

enum { SPAWNERS = 2 };
static sem_t places;
static uint64_t lived, worked, refused;
static long alive = 1000, staying = 700, least_us = 100, most_us = 20000;

#define SMALL(n) \
	NOINLINE uint64_t small_##n(uint64_t x) \
	{ \
		return target_mix(x, n) ^ n; \
	}
SMALL(0) SMALL(1) SMALL(2) SMALL(3) SMALL(4) SMALL(5) SMALL(6) SMALL(7)

NOINLINE uint64_t all_small(uint64_t x)
{
	__atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
	x = small_0(x), x = small_1(x), x = small_2(x), x = small_3(x);
	x = small_4(x), x = small_5(x), x = small_6(x), x = small_7(x);
	return x;
}

static void *body(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg, want = all_small(1);
	target_sleep_us(least_us + (long)(target_mix(seed, 1) % (uint64_t)(most_us - least_us + 1)));
	if (all_small(1) != want)
		target_bad("hash differs");
	__atomic_fetch_add(&lived, 1, __ATOMIC_RELAXED);
	sem_post(&places);
	return NULL;
}

static void *stayer(void *arg)
{
	for (;;)
		target_sleep_us(100000);
	return arg;
}

static int start_detached(void *(*f)(void *), void *arg)
{
	pthread_attr_t small;
	pthread_t t;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	return pthread_create(&t, &small, f, arg);
}

static void *spawner(void *arg)
{
	uintptr_t n = (uintptr_t)arg;
	while (!target_stopping) {
		while (sem_wait(&places) != 0)
			;
		if (start_detached(body, (void *)(n += SPAWNERS)) != 0) {
			__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
			sem_post(&places);
			target_sleep_us(1000);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[SPAWNERS];
	target_start();
	alive = target_arg(argc, argv, 1, alive);
	staying = target_arg(argc, argv, 2, staying);
	least_us = target_arg(argc, argv, 3, least_us);
	most_us = target_arg(argc, argv, 4, most_us);
	alive -= staying;
	if (alive < 1 || staying < 0)
		target_bad("nobody comes and goes");
	sem_init(&places, 0, (unsigned)alive);
	for (long i = 0; i < staying; i++)
		start_detached(stayer, NULL);
	for (uintptr_t i = 0; i < SPAWNERS; i++)
		if (pthread_create(&t[i], NULL, spawner, (void *)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(t[i], NULL);
	for (long i = 0; i < alive; i++)
		while (sem_wait(&places) != 0)
			;
	target_sleep_us(50000); /* the last ones are on their way out */
	target_count("threads", lived);
	target_count("all_small", worked);
	target_count("refused", refused);
	uint64_t hash = all_small(1);
	printf("DONE\n");
	target_stopping = 0;
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
