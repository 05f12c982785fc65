/* The program that bench measures switches with: two threads hand a byte to each other through pipes, on one processor.
 * Prints how many ns a round trip takes, the least of short rounds, once per line of input. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROUND = 2000, ROUNDS = 41 };

static int there[2], back[2];

static void *answer(void *arg)
{
	char byte;
	(void)arg;
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			_exit(1);
	return NULL;
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double round_trip(void)
{
	char byte = 0;
	double began = now();
	for (int i = 0; i < ROUND; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			_exit(1);
	return (now() - began) / ROUND;
}

int main(void)
{
	pthread_t t;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof set, &set);
	if (pipe(there) || pipe(back) || pthread_create(&t, NULL, answer, NULL))
		return 1;
	puts("READY");
	fflush(stdout);
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		double least = round_trip();
		for (int i = 1; i < ROUNDS; i++) {
			double ns = round_trip();
			if (ns < least)
				least = ns;
		}
		printf("%.1f\n", least);
		fflush(stdout);
	}
	return 0;
}
