// Cause: after each parallel step one of four threads merges the results alone, in merge_results(), while the three others wait
// at the barrier; that serial part is about 80 % of the time.
// Right: CPUbound at merge_results()
// Right: ExcessiveSyncWaitingTime at merge_results()
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, RESULTS = 4096 };

static pthread_barrier_t step;
static uint64_t results[THREADS][RESULTS];
static volatile uint64_t total;

static uint64_t mix(uint64_t h, int rounds)
{
	for (int i = 0; i < rounds; i++)
		h = (h ^ (h >> 11)) * 1099511628211u;
	return h;
}

__attribute__((noinline)) void compute_part(int me)
{
	for (int i = 0; i < RESULTS; i++)
		results[me][i] = mix(results[me][i] + (uint64_t)i, 150);
}

__attribute__((noinline)) void merge_results(void)
{
	uint64_t sum = total;
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < RESULTS; i++)
			sum = mix(sum ^ results[t][i], 300);
	total = sum;
}

__attribute__((noinline)) void wait_for_all(void)
{
	pthread_barrier_wait(&step);
}

static void *solve(void *arg)
{
	int me = (int)(intptr_t)arg;
	for (;;) {
		compute_part(me);
		wait_for_all();
		if (me == 0)
			merge_results();
		wait_for_all();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	pthread_barrier_init(&step, NULL, THREADS);
	for (intptr_t i = 1; i < THREADS; i++)
		pthread_create(&t[i], NULL, solve, (void *)i);
	puts("ready");
	fflush(stdout);
	solve((void *)0);
}
