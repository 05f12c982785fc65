// Cause: nothing to gain: two workers have equal parts of each step and meet at a barrier; both CPUs compute all the time.
// Right: CPUbound at simulate_cells()
// Never: advance()
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { WORKERS = 2 };
pthread_barrier_t step_done;
static uint64_t state[WORKERS][16];

NOINLINE void simulate_cells(uint64_t *s)
{
	uint64_t h = *s;
	for (int c = 0; c < 50000; c++)
		for (int i = 0; i < 200; i++)
			h = (h ^ (h >> 31)) * 0x94d049bb133111ebu + (uint64_t)c;
	*s = h;
}

NOINLINE void advance(long me)
{
	simulate_cells(state[me]);
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
	pthread_t t;
	pthread_create(&t, NULL, worker, (void *)1L);
	puts("ready");
	fflush(stdout);
	worker(NULL);
}
