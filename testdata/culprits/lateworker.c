// Cause: four workers advance a simulation step by step and meet at a barrier after each; the first has most of the cells, so that the others wait for it.
// Right: LoadImbalance|ExcessiveSyncWaitingTime at advance()
// Right: LoadImbalance|ExcessiveSyncWaitingTime at worker()
// Right: CPUbound at simulate_cells()
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { WORKERS = 4 };
static const int cells[WORKERS] = {8000, 800, 800, 800};
pthread_barrier_t step_done;
static uint64_t state[WORKERS][16];

NOINLINE void simulate_cells(uint64_t *s, int n)
{
	uint64_t h = *s;
	for (int c = 0; c < n; c++)
		for (int i = 0; i < 200; i++)
			h = (h ^ (h >> 31)) * 0x94d049bb133111ebu + (uint64_t)c;
	*s = h;
}

NOINLINE void advance(long me)
{
	simulate_cells(state[me], cells[me]);
	pthread_barrier_wait(&step_done);
}

static void *worker(void *arg)
{
	for (;;)
		advance((long)arg);
	return arg;
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&step_done, NULL, WORKERS);
	pthread_t t[WORKERS];
	for (long i = 1; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	puts("ready");
	fflush(stdout);
	worker(NULL);
}
