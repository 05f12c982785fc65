/* Threads contend for early_lock in fetch_page. With the line "begin" they end, and as many others start, which call update_index through a
 * pointer and contend there for late_lock.
 * appears [threads] [microseconds slept under a lock] */
#include "target.h"
#include <pthread.h>

enum { MAX_THREADS = 64 };
pthread_mutex_t early_lock = PTHREAD_MUTEX_INITIALIZER, late_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t early, late; /* each guarded by its lock */
static pthread_t threads[MAX_THREADS];
static uint64_t done[MAX_THREADS];
static long count, sleep_us;
static volatile int on, begun;

NOINLINE uint64_t fetch_page(uint64_t key)
{
	pthread_mutex_lock(&early_lock);
	early++;
	target_sleep_us(sleep_us);
	pthread_mutex_unlock(&early_lock);
	return target_mix(key, 1);
}

NOINLINE uint64_t update_index(uint64_t key)
{
	pthread_mutex_lock(&late_lock);
	late++;
	target_sleep_us(sleep_us);
	pthread_mutex_unlock(&late_lock);
	return target_mix(key, 1);
}

static uint64_t (*volatile update)(uint64_t) = update_index;

NOINLINE void *serve_pages(void *mine)
{
	for (; on; ++*(uint64_t *)mine)
		if (fetch_page(12345) != target_mix(12345, 1))
			target_bad("hash of a page differs");
	return NULL;
}

NOINLINE void *serve_updates(void *mine)
{
	for (; on; ++*(uint64_t *)mine)
		if (update(12345) != target_mix(12345, 1))
			target_bad("hash of an update differs");
	return NULL;
}

static void start_all(void *(*work)(void *))
{
	on = 1;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, &done[i]) != 0)
			target_bad("no thread %ld", i);
}

static void end_all(void)
{
	on = 0;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void command(const char *line)
{
	if (strcmp(line, "begin") != 0 || begun)
		return;
	begun = 1;
	end_all();
	start_all(serve_updates);
	printf("BEGUN\n");
}

int main(int argc, char **argv)
{
	target_command = command;
	target_start();
	count = target_arg(argc, argv, 1, 6);
	sleep_us = target_arg(argc, argv, 2, 300);
	if (count < 1 || count > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	start_all(serve_pages);
	target_wait_stop();
	end_all();
	uint64_t sum = 0;
	for (long i = 0; i < count; i++)
		sum += done[i];
	if (sum != early + late || begun != (late > 0))
		target_bad("%llu done, %llu with the one lock, %llu with the other", (unsigned long long)sum, (unsigned long long)early, (unsigned long long)late);
	target_count("early", early);
	return target_finish(target_mix(12345, 1));
}
