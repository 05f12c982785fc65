// Cause: a query is sent to four shards, and its answer waits for the slowest: one of them has most of the documents, in search_shard(). The others,
// and who asks, wait on condition variables for it.
// Right: CPUbound at search_shard()
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { SHARDS = 4, SMALL = 40000, LARGE = 1000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered = PTHREAD_COND_INITIALIZER;
static unsigned query;
static int missing;
static volatile uint64_t best[SHARDS];

NOINLINE static uint64_t search_shard(int shard, unsigned q)
{
	uint64_t score = q, found = 0;
	int documents = shard == 2 ? LARGE : SMALL;
	for (int i = 0; i < documents; i++) {
		score = score * 6364136223846793005u + 1442695040888963407u;
		if (score > found)
			found = score;
	}
	return found;
}

NOINLINE static unsigned next_query(unsigned seen)
{
	pthread_mutex_lock(&lock);
	while (query == seen)
		pthread_cond_wait(&asked, &lock);
	seen = query;
	pthread_mutex_unlock(&lock);
	return seen;
}

NOINLINE static void answer(void)
{
	pthread_mutex_lock(&lock);
	if (--missing == 0)
		pthread_cond_signal(&answered);
	pthread_mutex_unlock(&lock);
}

static void *serve(void *arg)
{
	int shard = (int)(intptr_t)arg;
	char name[16];
	snprintf(name, sizeof name, "shard-%d", shard);
	pthread_setname_np(pthread_self(), name);
	for (unsigned seen = 0;;) {
		seen = next_query(seen);
		best[shard] = search_shard(shard, seen);
		answer();
	}
	return NULL;
}

NOINLINE static void ask_all(void)
{
	pthread_mutex_lock(&lock);
	missing = SHARDS;
	query++;
	pthread_cond_broadcast(&asked);
	while (missing > 0)
		pthread_cond_wait(&answered, &lock);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t t;
	for (intptr_t i = 0; i < SHARDS; i++)
		pthread_create(&t, NULL, serve, (void *)i);
	puts("ready");
	fflush(stdout);
	for (;;)
		ask_all();
}
