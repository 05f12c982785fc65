/* What bench holds prices against: functions of the names that metrics look for, which do as much as that of a trial and wait for
 * nothing. prices: for each line of input, which is the name of a function, the ns of one call of it, the least of short rounds. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 300, CALLS = 5000 };

static uint64_t sink[8];

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* A loop over a call of which the compiler knows the function, as in most programs. */
#define TURNS(name, call)                                                                    \
	static double turns_##name(void)                                                     \
	{                                                                                    \
		double least = 1e9;                                                          \
		for (int r = 0; r < ROUNDS; r++) {                                           \
			double t = now_ns();                                                 \
			for (uint64_t i = 0; i < CALLS; i++)                                 \
				call;                                                        \
			t = (now_ns() - t) / CALLS;                                          \
			least = t < least ? t : least;                                       \
		}                                                                            \
		return least;                                                                \
	}

#define BARE(name)                                                                           \
	__attribute__((naked, noinline, noclone)) static long name(uint64_t *p, uint64_t x) \
	{                                                                                    \
		__asm__("lea 1(%rsi,%rsi,2), %rax\n mov %rax, (%rdi)\n ret\n"                \
			".skip 32, 0x90");                                                   \
	}                                                                                    \
	TURNS(name, name(sink, i))

BARE(work)
BARE(read)
BARE(send)
BARE(pthread_mutex_lock)
BARE(__libc_malloc)

/* A loop, with one turn of it. */
__attribute__((noinline, noclone)) static void spin(volatile uint64_t *p, long turns)
{
	for (long i = 0; i < turns; i++)
		*p = (uint64_t)i;
}
TURNS(spin, spin(sink, 1))

static const struct {
	const char *name;
	double (*turns)(void);
} all[] = {{"work", turns_work}, {"read", turns_read}, {"send", turns_send}, {"pthread_mutex_lock", turns_pthread_mutex_lock},
	   {"__libc_malloc", turns___libc_malloc}, {"spin", turns_spin}};

int main(void)
{
	char line[64];
	printf("READY\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			if (strcmp(line, all[i].name) == 0)
				printf("%.4f\n", all[i].turns());
		fflush(stdout);
	}
	return 0;
}
