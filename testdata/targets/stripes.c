/* Threads take the many mutexes of a table, each in its turn, and one lock that they share; nobody waits for any of the many.
 * stripes [mutexes] [threads] */
#include "target.h"
#include <pthread.h>

enum { MAX = 4096, ROUNDS = 20 };

struct stripe {
	pthread_mutex_t lock;
	long items;
};

struct {
	long generation;
	pthread_mutex_t lock;
	struct stripe stripes[MAX];
} table;

static long mutexes, threads;

NOINLINE void touch(struct stripe *s)
{
	pthread_mutex_lock(&s->lock);
	s->items++;
	pthread_mutex_unlock(&s->lock);
}

/* worker takes the mutexes whose number leaves the rest that is its own. */
static void *worker(void *arg)
{
	for (int r = 0; r < ROUNDS; r++) {
		for (long i = (long)arg; i < mutexes; i += threads)
			touch(&table.stripes[i]);
		pthread_mutex_lock(&table.lock);
		table.generation++;
		pthread_mutex_unlock(&table.lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	target_start();
	pthread_t t[64];
	mutexes = target_arg(argc, argv, 1, 100);
	threads = target_arg(argc, argv, 2, 2);
	if (mutexes > MAX || threads > 64)
		target_bad("too many");
	pthread_mutex_init(&table.lock, NULL);
	for (long i = 0; i < mutexes; i++)
		pthread_mutex_init(&table.stripes[i].lock, NULL);
	target_wait_go();
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	target_sleep_us(300000);
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	long sum = table.generation;
	for (long i = 0; i < mutexes; i++)
		sum += table.stripes[i].items;
	target_count("mutexes", (uint64_t)mutexes + 1);
	target_count("taken", (uint64_t)sum);
	target_count("each", ROUNDS);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(17, (uint64_t)sum));
}
