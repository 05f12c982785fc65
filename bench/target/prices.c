/* What bench holds prices against: functions of the names that metrics look for, which do as much as that of a trial and wait for
 * nothing. prices: prints the ns of one call of outer, the least of short rounds, once per line of input. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BUSY(name)                                                                                                   \
	__attribute__((naked, noinline, noclone, used)) static long name(uint64_t *p, uint64_t x)                   \
	{                                                                                                            \
		__asm__("lea 1(%rsi,%rsi,2), %rax\n mov %rax, (%rdi)\n .rept 30\n mov %esi, %eax\n .endr\n ret\n"   \
			".skip 32, 0x90");                                                                           \
	}
BUSY(work)
BUSY(read)
BUSY(pthread_mutex_lock)
BUSY(pthread_mutex_unlock)
BUSY(malloc_like)

static uint64_t sink[8];

/* A loop, with one turn of it. */
__attribute__((noinline, noclone)) static void spin(volatile uint64_t *p, long turns)
{
	for (long i = 0; i < turns; i++)
		*p = (uint64_t)i;
}

/* The functions one after the other. */
__attribute__((noinline, noclone)) static void outer(uint64_t x)
{
	work(sink, x);
	read(sink + 1, x);
	pthread_mutex_lock(sink + 2, x);
	pthread_mutex_unlock(sink + 3, x);
	malloc_like(sink + 4, x);
	spin(sink + 5, 1);
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void)
{
	char line[64];
	enum { ROUNDS = 300, CALLS = 2000 };
	printf("READY\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		double least = 1e9;
		for (int r = 0; r < ROUNDS; r++) {
			double t = now_ns();
			for (uint64_t i = 1; i <= CALLS; i++)
				outer(i);
			t = (now_ns() - t) / CALLS;
			if (t < least)
				least = t;
		}
		printf("%.4f\n", least);
		fflush(stdout);
	}
	return 0;
}
