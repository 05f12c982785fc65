/* The main thread ends at "go", another one works on until "stop". COUNT work is how often. */
#include "target.h"
#include <pthread.h>

NOINLINE uint64_t work(uint64_t seed)
{
	uint64_t h = seed;
	__asm__ volatile("" : "+r"(h)); /* so that it is called each time */
	for (int i = 0; i < 2000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

static void *works(void *mains)
{
	uint64_t calls = 1, hash = work(1);
	pthread_join(*(pthread_t *)mains, NULL);
	for (; target_running(); calls++)
		if (work(1) != hash)
			target_bad("hash differs");
	printf("COUNT work %llu\n", (unsigned long long)calls);
	exit(target_finish(hash));
}

int main(void)
{
	pthread_t t;
	static pthread_t mains;
	target_start();
	mains = pthread_self();
	pthread_create(&t, NULL, works, &mains);
	target_wait_go();
	pthread_exit(NULL);
}
