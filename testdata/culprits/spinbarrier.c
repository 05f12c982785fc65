// Cause: the rows of a parallel loop are divided badly: thread sweep-1 has eight of nine parts in relax_rows(), and the other
// thread spins at the barrier meanwhile, in spin_until_all_arrive(); 44 % of the CPU time is such spinning.
// Right: CPUbound at relax_rows() and thread sweep-1
// Right: ExcessiveSyncWaitingTime at spin_until_all_arrive()
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 2, ROWS = 902, COLUMNS = 1024, LIMIT = 100 };

static double grid[2][ROWS][COLUMNS];
static unsigned arrived, phase;

__attribute__((noinline)) void relax_rows(int from, int first, int end)
{
	for (int r = first; r < end; r++)
		for (int c = 1; c < COLUMNS - 1; c++)
			grid[!from][r][c] = 0.25 * (grid[from][r - 1][c] + grid[from][r + 1][c] + grid[from][r][c - 1] + grid[from][r][c + 1]);
}

__attribute__((noinline)) void spin_until_all_arrive(void)
{
	unsigned mine = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == THREADS) {
		__atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&phase, mine + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == mine)
		__builtin_ia32_pause();
}

static void *sweep(void *arg)
{
	int me = (int)(intptr_t)arg;
	char name[16];
	snprintf(name, sizeof name, "sweep-%d", me);
	pthread_setname_np(pthread_self(), name);
	int first = me == 0 ? 1 : 1 + LIMIT, end = me == 0 ? 1 + LIMIT : ROWS - 1;
	for (unsigned step = 0;; step++) {
		relax_rows((int)(step & 1), first, end);
		spin_until_all_arrive();
	}
	return NULL;
}

int main(void)
{
	for (int c = 0; c < COLUMNS; c++)
		grid[0][0][c] = grid[1][0][c] = 1;
	pthread_t t[THREADS];
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, sweep, (void *)i);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
