/* The program that bench measures: threads that call a small function as fast as they can and say what a call took.
 * loop THREADS: prints "NS_PER_CALL" of the busiest way it can be read, the least of short rounds, once per line of input. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_THREADS = 64, ROUND = 200000, ROUNDS = 60 };

static uint64_t sink[MAX_THREADS][8];
static pthread_barrier_t start, finish;
static double best[MAX_THREADS];

__attribute__((noinline, noclone)) void leaf(uint64_t *p, uint64_t x)
{
	*p += x * 3 + 1;
	__asm__ volatile("" ::: "memory");
}

/* The same body under other names, so that each can be instrumented in its own way. */
__attribute__((noinline, noclone)) void timed(uint64_t *p, uint64_t x)
{
	*p += x * 3 + 2;
	__asm__ volatile("" ::: "memory");
}

/* What a probe may call. */
__attribute__((noinline, noclone)) void nothing(void) { __asm__ volatile("" ::: "memory"); }

/* A function that waits for nothing, not even for its own last store, so that nothing hides what is added to it. */
__attribute__((naked, noinline, noclone)) void straight(uint64_t *p, uint64_t x)
{
	__asm__("lea 1(%rsi,%rsi,2), %rax\n mov %rax, (%rdi)\n ret");
}

/* The same with its first instruction moved behind a jump to another page and one back, as a trampoline without any probe has
 * it: what no probe that is jumped to can do without. */
__attribute__((naked, noinline, noclone)) void detour(uint64_t *p, uint64_t x)
{
	__asm__("jmp 2f\n1: mov %rax, (%rdi)\n ret\n"
		".pushsection .away, \"ax\", @progbits\n.balign 4096\n"
		"2: lea 1(%rsi,%rsi,2), %rax\n jmp 1b\n"
		".popsection");
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The least of many short rounds: what the call takes when nobody disturbs. */
static double least(uint64_t *p, void (*f)(uint64_t *, uint64_t), int rounds, int calls)
{
	double least = 1e9;
	for (int r = 0; r < rounds; r++) {
		double t = now_ns();
		for (int i = 0; i < calls; i++)
			f(p, (uint64_t)i);
		t = (now_ns() - t) / calls;
		if (t < least)
			least = t;
	}
	return least;
}

static void *caller(void *arg)
{
	long me = (long)arg;
	for (;;) {
		pthread_barrier_wait(&start);
		/* Shorter than a turn on a processor that others want, too. */
		best[me] = least(sink[me], leaf, ROUNDS * 10, ROUND / 10);
		pthread_barrier_wait(&finish);
	}
	return NULL;
}

static inline uint64_t tsc(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static double pair(int what, int rounds)
{
	double least = 1e9;
	struct timespec ts;
	for (int r = 0; r < rounds; r++) {
		double t = now_ns();
		for (int i = 0; i < ROUND / 10; i++) {
			if (what == 0) {
				sink[0][1] += tsc();
				sink[0][2] += tsc();
			} else {
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
			}
		}
		t = (now_ns() - t) / (ROUND / 10);
		if (t < least)
			least = t;
	}
	return least;
}

/* A timed call and its limit in turns, so that both meet the processor at the same speeds. */
static double limit;

static double beside_limit(void)
{
	double best = 1e9;
	limit = 1e9;
	for (int r = 0; r < ROUNDS * 5; r++) {
		double t = least(sink[0], timed, 1, ROUND / 10), l = pair(0, 1);
		best = t < best ? t : best;
		limit = l < limit ? l : limit;
	}
	return best;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 4;
	pthread_t id;
	char line[64];
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&finish, NULL, (unsigned)threads + 1);
	for (long i = 0; i < threads; i++)
		pthread_create(&id, NULL, caller, (void *)i);
	printf("READY\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		double v = 0;
		switch (line[0]) {
		case 'l': v = least(sink[0], leaf, ROUNDS, ROUND); break;
		case 'u': v = least(sink[0], leaf, 10, 5000); break; /* for what costs microseconds */
		case 't': v = least(sink[0], timed, ROUNDS, ROUND); break;
		case 's': v = least(sink[0], straight, ROUNDS, ROUND); break;
		case 'j': v = least(sink[0], detour, ROUNDS, ROUND); break;
		case 'w': v = beside_limit(); break;
		case 'r': v = limit; break; /* of the last w */
		case 'c': v = pair(1, ROUNDS); break;
		case 'm': /* all threads at once: the worst of them */
			pthread_barrier_wait(&start);
			pthread_barrier_wait(&finish);
			for (long i = 0; i < threads; i++)
				v = best[i] > v ? best[i] : v;
			break;
		default: return 0;
		}
		printf("%.4f\n", v);
		fflush(stdout);
	}
	return 0;
}
