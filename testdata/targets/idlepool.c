/* A pool of workers parked on a condition variable with almost nothing to do: idle, not a bottleneck.
 * idlepool [workers] [milliseconds between jobs] */
#include "target.h"
#include <pthread.h>

enum { MAX_WORKERS = 64 };
pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER;
static uint64_t jobs_queued, jobs_taken, jobs_done;
static int closing;

NOINLINE uint64_t run_job(uint64_t seed)
{
	uint64_t h = seed;
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

NOINLINE int wait_for_job(void)
{
	pthread_mutex_lock(&pool_lock);
	while (jobs_taken == jobs_queued && !closing)
		pthread_cond_wait(&pool_work, &pool_lock);
	int got = jobs_taken < jobs_queued;
	if (got)
		jobs_taken++;
	pthread_mutex_unlock(&pool_lock);
	return got;
}

static void *worker(void *arg)
{
	uint64_t expected = run_job(8);
	while (wait_for_job()) {
		if (run_job(8) != expected)
			target_bad("hash differs");
		__atomic_fetch_add(&jobs_done, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static void add_job(void)
{
	pthread_mutex_lock(&pool_lock);
	jobs_queued++;
	pthread_cond_signal(&pool_work);
	pthread_mutex_unlock(&pool_lock);
}

int main(int argc, char **argv)
{
	pthread_t t[MAX_WORKERS];
	target_start();
	int workers = (int)target_arg(argc, argv, 1, 8);
	long period_ms = target_arg(argc, argv, 2, 500);
	if (workers < 1 || workers > MAX_WORKERS)
		target_bad("workers: 1 to %d", MAX_WORKERS);
	for (int i = 0; i < workers; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (uint64_t next = 0; !target_stopping; target_poll(period_ms < 20 ? (int)period_ms : 20))
		if (target_now_ns() >= next) {
			add_job();
			next = target_now_ns() + (uint64_t)period_ms * 1000000;
		}
	pthread_mutex_lock(&pool_lock);
	closing = 1;
	pthread_cond_broadcast(&pool_work);
	pthread_mutex_unlock(&pool_lock);
	for (int i = 0; i < workers; i++)
		pthread_join(t[i], NULL);
	if (jobs_done != jobs_queued)
		target_bad("%llu jobs queued, %llu done", (unsigned long long)jobs_queued, (unsigned long long)jobs_done);
	target_count("run_job", jobs_done + (uint64_t)workers);
	return target_finish(run_job(8));
}
