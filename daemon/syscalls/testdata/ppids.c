/* Threads on one CPU that do nothing but a call which never waits, until the standard input ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int end;

static void *calls(void *arg)
{
	while (!end)
		syscall(SYS_getppid);
	return arg;
}

int main(void)
{
	pthread_t t[4];
	cpu_set_t one;
	char c;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, calls, NULL);
	puts("READY");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	end = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
