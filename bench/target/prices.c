/* What bench holds prices against: functions of the names that metrics look for, which do as much as that of a trial and wait for
 * nothing. prices: for each line of input, which is the name of a function, the ns of one call of it: the least of short rounds, in the
 * mean of loops that lie differently in the lines of the cache. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 60, CALLS = 5000 };

static uint64_t sink[8];

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* A loop over a call of which the compiler knows the function, as in most programs. */
#define LOOP(name, skip, call)                                                               \
	__attribute__((noinline, noclone)) static double turns_##name##skip(void)            \
	{                                                                                    \
		double least = 1e9;                                                          \
		__asm__ volatile("jmp 1f\n .p2align 6\n .skip " #skip ", 0x90\n 1:");          \
		for (int r = 0; r < ROUNDS; r++) {                                           \
			double t = now_ns();                                                 \
			for (uint64_t i = 0; i < CALLS; i++)                                 \
				call;                                                        \
			t = (now_ns() - t) / CALLS;                                          \
			least = t < least ? t : least;                                       \
		}                                                                            \
		return least;                                                                \
	}

#define TURNS(name, call)                                                            \
	LOOP(name, 1, call)                                                                 \
	LOOP(name, 9, call)                                                                 \
	LOOP(name, 17, call)                                                                \
	LOOP(name, 25, call)                                                                \
	LOOP(name, 33, call)                                                                \
	LOOP(name, 41, call)                                                                \
	LOOP(name, 49, call)                                                                \
	LOOP(name, 57, call)                                                                \
	static double turns_##name(void)                                                    \
	{                                                                                   \
		return (turns_##name##1() + turns_##name##9() + turns_##name##17() + turns_##name##25() +\
			turns_##name##33() + turns_##name##41() + turns_##name##49() + turns_##name##57()) / 8;\
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
BARE(MPI_Send)
BARE(MPI_Recv)
BARE(MPI_Gather)
BARE(MPI_Put)

__attribute__((noinline, used)) int MPI_Init(int *argc, char ***argv)
{
	return argc == 0 || argv == 0;
}

/* What probes of MPI's functions ask. */
__attribute__((noinline, used)) int MPI_Type_size(long type, int *size)
{
	*size = 8 + (int)(type & 0);
	return 0;
}

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
	   {"__libc_malloc", turns___libc_malloc}, {"MPI_Send", turns_MPI_Send}, {"MPI_Recv", turns_MPI_Recv}, {"MPI_Gather", turns_MPI_Gather}, {"MPI_Put", turns_MPI_Put},
	   {"spin", turns_spin}};

int main(void)
{
	char line[64];
	printf("READY\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		size_t i = 0;
		while (i < sizeof all / sizeof *all && strcmp(line, all[i].name) != 0)
			i++;
		if (i < sizeof all / sizeof *all)
			printf("%.4f\n", all[i].turns());
		else
			printf("no function %s\n", line);
		fflush(stdout);
	}
	return 0;
}
