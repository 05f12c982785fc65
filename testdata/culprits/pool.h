// What idleworkers, idleworkers1000 and starvedpool share: a pool of workers. JOB is how many steps a job takes.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { WORKERS = 8, PLACES = 64 };

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_there = PTHREAD_COND_INITIALIZER;
static uint32_t jobs[PLACES];
static unsigned first, last;
static uint64_t done;

__attribute__((noinline)) uint32_t take_job(void)
{
	pthread_mutex_lock(&jobs_lock);
	while (first == last)
		pthread_cond_wait(&jobs_there, &jobs_lock);
	uint32_t job = jobs[first++ % PLACES];
	pthread_mutex_unlock(&jobs_lock);
	return job;
}

__attribute__((noinline)) void put_job(uint32_t job)
{
	pthread_mutex_lock(&jobs_lock);
	if (last - first < PLACES)
		jobs[last++ % PLACES] = job;
	pthread_mutex_unlock(&jobs_lock);
	pthread_cond_signal(&jobs_there);
}

static uint32_t compute(uint32_t x, int steps)
{
	for (int i = 0; i < steps; i++)
		x = x * 1664525u + 1013904223u + (x >> 7);
	return x;
}

__attribute__((noinline)) uint32_t do_job(uint32_t job)
{
	return compute(job, JOB);
}

static void *worker(void *arg)
{
	(void)arg;
	for (;;)
		__atomic_fetch_add(&done, do_job(take_job()) & 1, __ATOMIC_RELAXED);
	return NULL;
}

static void begin_workers(void)
{
	pthread_t t;
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&t, NULL, worker, NULL);
}
