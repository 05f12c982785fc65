// Cause: 16 busy threads share two CPUs: nearly all the time each of them is ready to run and waits for a CPU; what they compute is score_document().
// Right: SchedulingDelay at *
// Right: CPUbound at score_document()
// Never: take_job()

// A search engine's pool, made with far too many threads. Jobs never run
// out, and each job is pure computing.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 16
#define TERMS 32
#define WORDS 20000

static uint16_t document[WORDS];
static atomic_ulong next_job;
static volatile float results[1024];

__attribute__((noinline)) static unsigned long take_job(void)
{
	return atomic_fetch_add_explicit(&next_job, 1, memory_order_relaxed);
}

__attribute__((noinline)) static float score_document(unsigned long job)
{
	float score = 0;
	for (unsigned term = 0; term < TERMS; term++) {
		uint16_t want = (uint16_t)((job * 131 + term * 17) % 5000);
		int last = -1;
		for (int i = 0; i < WORDS; i++) {
			if (document[i] == want) {
				score += last < 0 ? 1.0f : 1.0f / (float)(i - last);
				last = i;
			}
		}
	}
	return score;
}

static void *pool_thread(void *arg)
{
	(void)arg;
	for (;;) {
		unsigned long job = take_job();
		results[job % 1024] = score_document(job);
	}
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	srand(7);
	for (int i = 0; i < WORDS; i++)
		document[i] = (uint16_t)(rand() % 5000);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;
		if (pthread_create(&t, &attr, pool_thread, NULL) != 0) {
			perror("pthread_create");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
