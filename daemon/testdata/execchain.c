/* Executes itself again after so many milliseconds, with two other threads that compute; each second time not from the main thread.
 * execchain MILLISECONDS [NUMBER] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <unistd.h>

static char **own;
static int number;

static void again(void)
{
	char text[16];
	snprintf(text, sizeof text, "%d", number + 1);
	usleep(atoi(own[1]) * 1000);
	execl("/proc/self/exe", own[0], own[1], text, (char *)0);
	_exit(9);
}

static void *compute(void *arg)
{
	for (volatile uint64_t x = 1;; x = x * 3 + 1)
		;
	return arg;
}

static void *other(void *arg)
{
	again();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	own = argv;
	number = argc > 2 ? atoi(argv[2]) : 0;
	alarm(60); /* nobody may be left behind */
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, compute, NULL);
	if (number % 2 == 0)
		again();
	pthread_create(&t, NULL, other, NULL);
	for (;;)
		pause();
}
