// What idleworkers and idleworkers1000 share: a healthy pool. JOB is how many steps a job takes.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

__attribute__((noinline)) uint32_t do_job(uint32_t job)
{
	for (int i = 0; i < JOB; i++)
		job = job * 1664525u + 1013904223u + (job >> 7);
	return job;
}

static void *worker(void *arg)
{
	(void)arg;
	for (;;)
		__atomic_fetch_add(&done, do_job(take_job()) & 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	long rate = argc > 1 ? atol(argv[1]) : 1;
	struct timespec pause = {rate > 1 ? 0 : 1, rate > 1 ? 1000000000 / rate : 0};
	pthread_t t[WORKERS];
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	for (uint32_t n = 0;; n++) {
		put_job(n);
		nanosleep(&pause, NULL);
	}
}
