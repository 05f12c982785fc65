/* Two hundred processes of five threads each, which sleep a tenth of a second and work some microseconds, again and again.
 * They end with the first of them, which ends with its input. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PROCESSES = 200, THREADS = 5, TURNS = 2000 };

static volatile unsigned long sum;

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < TURNS; i++)
		sum += (unsigned long)i;
}

static void *worker(void *arg)
{
	for (;;) {
		usleep(100000);
		work();
	}
	return arg;
}

int main(void)
{
	pid_t first = getpid();
	for (int i = 1; i < PROCESSES && getpid() == first; i++) {
		pid_t child = fork();
		if (child < 0)
			return 1;
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != first)
				return 1;
		}
	}
	pthread_t t;
	for (int i = getpid() == first ? 0 : 1; i < THREADS; i++) /* the first process waits for its input */
		if (pthread_create(&t, NULL, worker, NULL))
			return 1;
	if (getpid() != first)
		worker(NULL);
	puts("READY");
	fflush(stdout);
	return getchar() == EOF ? 0 : 1;
}
