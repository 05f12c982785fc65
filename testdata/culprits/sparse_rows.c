// Cause: the matrix rows are divided evenly, but the first quarter holds nearly all numbers, so three threads wait at the barrier for thread rows-0.
// Right: LoadImbalance at multiply_rows()
// Right: LoadImbalance at thread rows-0
// Right: ExcessiveSyncWaitingTime at lock step_barrier
// Never: scale_rows()

// Repeated sparse matrix times vector, as in an iterative solver. Each of
// four threads has the same number of rows, and all meet after each step.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define ROWS 2048
#define DENSE (ROWS / THREADS)
#define DENSE_ROW 2000
#define SPARSE_ROW 200

static int first[ROWS + 1];
static int *column;
static double *value;
static double x[ROWS], y[ROWS];
static pthread_barrier_t step_barrier;

static void build_matrix(void)
{
	int n = 0;
	for (int r = 0; r < ROWS; r++) {
		first[r] = n;
		n += r < DENSE ? DENSE_ROW : SPARSE_ROW;
		x[r] = 1.0;
	}
	first[ROWS] = n;
	column = malloc((size_t)n * sizeof *column);
	value = malloc((size_t)n * sizeof *value);
	if (!column || !value)
		exit(1);
	unsigned seed = 12345;
	for (int i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		column[i] = (int)(seed >> 8) % ROWS;
		value[i] = 1.0 / (1 + (seed >> 20) % 1000);
	}
}

__attribute__((noinline)) static void multiply_rows(int from, int to)
{
	for (int r = from; r < to; r++) {
		double sum = 0;
		for (int i = first[r]; i < first[r + 1]; i++)
			sum += value[i] * x[column[i]];
		y[r] = sum;
	}
}

__attribute__((noinline)) static void scale_rows(int from, int to)
{
	for (int r = from; r < to; r++)
		x[r] = y[r] / (1.0 + y[r]);
}

static void *solver(void *arg)
{
	int id = *(int *)arg;
	char name[16];
	snprintf(name, sizeof name, "rows-%d", id);
	pthread_setname_np(pthread_self(), name);
	int from = id * (ROWS / THREADS), to = from + ROWS / THREADS;
	for (;;) {
		for (int sweep = 0; sweep < 4; sweep++)
			multiply_rows(from, to);
		pthread_barrier_wait(&step_barrier);
		scale_rows(from, to);
		pthread_barrier_wait(&step_barrier);
	}
	return NULL;
}

int main(void)
{
	static int ids[THREADS];
	build_matrix();
	pthread_barrier_init(&step_barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;
		ids[i] = i;
		if (pthread_create(&t, NULL, solver, &ids[i]) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
