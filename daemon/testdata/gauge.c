/* Eight threads that change one number: all of them raise it, then all of them lower it, again and again, as fast as they can. The
 * program works out the integral of the number for itself, by the time-stamp counter.
 * gauge ROUNDS CHANGES: so many rounds, in each of which a thread raises it so often by one and lowers it as often. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

enum { THREADS = 8 };
static pthread_barrier_t together;
static long rounds, changes;
/* line waits for a line, or for the end of the input. */
static void line(void)
{
	int c;
	while ((c = getchar()) != '\n')
		if (c == EOF)
			exit(0);
}

static uint64_t areas[THREADS][8]; /* a cache line each */

__attribute__((noinline, noclone)) void raise_it(long by) { __asm__ volatile(".fill 4, 4, 0x00401f0f" : : "r"(by) : "memory"); }
__attribute__((noinline, noclone)) void lower_it(long by) { __asm__ volatile(".fill 4, 4, 0x00401f0f" : : "r"(by) : "memory"); }
__attribute__((noinline, noclone)) void never(long by) { __asm__ volatile(".fill 4, 4, 0x00401f0f" : : "r"(by) : "memory"); }

static void *body(void *arg)
{
	uint64_t *area = arg;
	for (long i = 0; i < rounds; i++) {
		pthread_barrier_wait(&together);
		for (long k = 0; k < changes; k++) {
			raise_it(1);
			*area += __rdtsc();
		}
		pthread_barrier_wait(&together);
		for (long k = 0; k < changes; k++) {
			lower_it(1);
			*area -= __rdtsc();
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t area = 0;
	if (argc < 3)
		return 2;
	rounds = atol(argv[1]);
	changes = atol(argv[2]);
	pthread_barrier_init(&together, NULL, THREADS);
	puts("READY");
	fflush(stdout);
	line();
	if (rounds < 0)
		never(1);
	uint64_t began = __rdtsc();
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, body, areas[i]);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	uint64_t ended = __rdtsc();
	for (long i = 0; i < THREADS; i++)
		area += areas[i][0];
	/* in the end the number is 0, so that the integral is what was added up, but for the sign */
	printf("COUNT area %llu\nCOUNT cycles %llu\nDONE\n", (unsigned long long)-area, (unsigned long long)(ended - began));
	fflush(stdout);
	line();
}
