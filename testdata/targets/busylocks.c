/* One thread takes a lock of its own all the time, which nobody else wants; three others contend for slow_lock, each of which sleeps with it, so that two
 * wait for it at any time.
 * busylocks [microseconds slept under slow_lock] */
#include "target.h"
#include <pthread.h>

enum { THREADS = 4 };
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t counted;
static uint64_t written; /* guarded by slow_lock */
static long sleep_us;
static volatile int on = 1;

NOINLINE void count_item(void)
{
	pthread_mutex_lock(&own_lock);
	counted++;
	pthread_mutex_unlock(&own_lock);
}

NOINLINE void write_log(void)
{
	pthread_mutex_lock(&slow_lock);
	written++;
	target_sleep_us(sleep_us);
	pthread_mutex_unlock(&slow_lock);
}

static void *counter(void *arg)
{
	while (on)
		count_item();
	return arg;
}

static void *writer(void *arg)
{
	while (on)
		write_log();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	target_start();
	sleep_us = target_arg(argc, argv, 1, 2000);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, i == 0 ? counter : writer, NULL) != 0)
			target_bad("no thread %d", i);
	target_wait_stop();
	on = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	target_count("count_item", counted);
	target_count("write_log", written);
	return target_finish(target_mix(12345, 1));
}
