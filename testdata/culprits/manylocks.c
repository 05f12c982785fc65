// Cause: three threads wait for the lock of the log, which each holds while it writes a line to a slow place. A fourth takes locks that nobody else wants, tens of millions of times a second: probes at each of those would take all of its time.
// Right: ExcessiveSyncWaitingTime at lock log_lock
// Right: ExcessiveSyncWaitingTime at write_line()
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
enum { BUCKETS = 16, WRITERS = 3 };

struct bucket {
	pthread_mutex_t lock;
	volatile uint64_t words;
};

static struct bucket buckets[BUCKETS];
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lines;

NOINLINE void add_word(uint64_t hash)
{
	struct bucket *b = &buckets[hash % BUCKETS];
	pthread_mutex_lock(&b->lock);
	b->words++;
	pthread_mutex_unlock(&b->lock);
}

NOINLINE void write_line(void)
{
	pthread_mutex_lock(&log_lock);
	lines++;
	usleep(1500);
	pthread_mutex_unlock(&log_lock);
}

static void *writer(void *arg)
{
	for (;;)
		write_line();
	return arg;
}

static void *indexer(void *arg)
{
	for (uint64_t hash = 1;; hash = hash * 0xbf58476d1ce4e5b9u + 1)
		for (int i = 0; i < 100000; i++)
			add_word(hash >> (i & 31));
	return arg;
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_t t;
	for (int i = 0; i < BUCKETS; i++)
		pthread_mutex_init(&buckets[i].lock, NULL);
	pthread_create(&t, NULL, indexer, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&t, NULL, writer, NULL);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
