/* Eight threads that change one number: all of them raise it, then all of them lower it, again and again, as fast as they can. The
 * program works out the integral of the number for itself, by the time-stamp counter.
 * gauge ROUNDS CHANGES [US]: so many rounds, in each of which a thread raises it so often by one and lowers it as often. With US, every
 * so many microseconds one of them is interrupted by a signal, whose handler raises and lowers it as well. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
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

static uint64_t handled, interruptions;

static void handler(int signal)
{
	(void)signal;
	raise_it(1);
	uint64_t raised = __rdtsc();
	lower_it(1);
	__atomic_fetch_add(&handled, raised - __rdtsc(), __ATOMIC_RELAXED);
	__atomic_fetch_add(&interruptions, 1, __ATOMIC_RELAXED);
}

static void interrupt_every(long us)
{
	struct itimerval every = {{0, us}, {0, us}};
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	if (us > 0 && (sigaction(SIGALRM, &act, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0))
		exit(1);
}

static void stop_interrupting(void)
{
	struct itimerval never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &never, NULL);
}

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
	interrupt_every(argc > 3 ? atol(argv[3]) : 0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, body, areas[i]);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	stop_interrupting();
	uint64_t ended = __rdtsc();
	area += handled;
	for (long i = 0; i < THREADS; i++)
		area += areas[i][0];
	/* in the end the number is 0, so that the integral is what was added up, but for the sign */
	printf("COUNT area %llu\nCOUNT cycles %llu\nCOUNT interruptions %llu\nDONE\n", (unsigned long long)-area,
		(unsigned long long)(ended - began), (unsigned long long)interruptions);
	fflush(stdout);
	line();
}
