// Takes 16 mutexes in turn and lets them go, and says what that costs: a line for each line that it reads.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { LOCKS = 16, TURNS = 20000, ROUNDS = 15 };
pthread_mutex_t locks[LOCKS];

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

__attribute__((noinline)) static void turn(void)
{
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&locks[i]);
		pthread_mutex_unlock(&locks[i]);
	}
}

int main(void)
{
	char line[16];
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	puts("READY");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		double least = 1e9;
		for (int r = 0; r < ROUNDS; r++) {
			double t = now();
			for (int i = 0; i < TURNS; i++)
				turn();
			double each = (now() - t) / (TURNS * LOCKS);
			least = each < least ? each : least;
		}
		printf("%.3f\n", least);
		fflush(stdout);
	}
	return 0;
}
