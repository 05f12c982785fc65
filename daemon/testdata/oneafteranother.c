/* Threads one after another, each of which calls a function ten times and ends: they have the same memory. The first waits for a moment. */
#include "target.h"
#include <pthread.h>

NOINLINE uint64_t work(uint64_t n) { return target_mix(n, 7); }

static void *one(void *arg)
{
	uint64_t h = 0;
	for (uint64_t i = 0; i < 10; i++)
		h += work(i);
	return (void *)(h + (uint64_t)arg);
}

int main(int argc, char **argv)
{
	uint64_t hash = 0;
	target_start();
	long threads = target_arg(argc, argv, 1, 1000);
	target_wait_go();
	for (long i = 0; i < threads; i++) {
		pthread_t t;
		void *h;
		pthread_create(&t, NULL, one, NULL);
		pthread_join(t, &h);
		hash += (uint64_t)h;
		if (i % 100 == 0)
			target_sleep_us(20000);
	}
	printf("DONE\n");
	fflush(stdout);
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
