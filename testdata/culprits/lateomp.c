// Cause: the rows of a triangular matrix are divided by number between two threads of OpenMP, so that one of them has three times the work of the other, which spins at the barrier of the loop.
// Right: LoadImbalance|ExcessiveSyncWaitingTime at sweep()
// Right: LoadImbalance|ExcessiveSyncWaitingTime at *
// Right: CPUbound at update_row()
// Flags: -fopenmp
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { ROWS = 1200 };
static double matrix[ROWS][ROWS];
static volatile long sweeps[2][8];

NOINLINE void update_row(int row)
{
	for (int c = 0; c <= row; c++)
		matrix[row][c] = matrix[row][c] * 0.999 + (double)(row - c) * 0.001;
}

/* sweep is run by each thread of the team. */
NOINLINE void sweep(void)
{
#pragma omp for schedule(static)
	for (int row = 0; row < ROWS; row++)
		update_row(row);
	sweeps[omp_get_thread_num()][0]++;
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	omp_set_num_threads(2);
	puts("ready");
	fflush(stdout);
#pragma omp parallel
	for (;;)
		sweep();
}
