/* Threads do one thing, and something else when a line says so: "compute" in checksum, "lock", which is to wait for page_lock in fetch_page, or
 * "wait", which is to wait for a pipe in read_reply.
 * turns [threads] */
#include "target.h"
#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 64, COMPUTE, LOCK, WAIT };
pthread_mutex_t page_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t pages, fetched[MAX_THREADS]; /* pages is guarded by the lock */
static atomic_ulong checksums;
static int pipes[2];
static volatile int doing = COMPUTE, on = 1;
static volatile uint64_t seed = 1; /* so that no call is left out as one that gives the same */

NOINLINE uint64_t checksum(uint64_t h)
{
	for (int i = 0; i < 100000; i++)
		h = target_mix(h, 7);
	return h;
}

NOINLINE void fetch_page(uint64_t *mine)
{
	pthread_mutex_lock(&page_lock);
	pages++;
	target_sleep_us(300);
	pthread_mutex_unlock(&page_lock);
	++*mine;
}

NOINLINE void read_reply(void)
{
	char byte;
	if (read(pipes[0], &byte, 1) != 1)
		target_bad("no reply");
}

NOINLINE void *serve(void *mine)
{
	uint64_t expected = checksum(seed);
	while (on)
		switch (doing) {
		case COMPUTE:
			if (checksum(seed) != expected)
				target_bad("a checksum differs");
			checksums++;
			break;
		case LOCK:
			fetch_page(mine);
			break;
		case WAIT:
			read_reply();
			break;
		}
	return NULL;
}

/* reply answers all threads that wait every 20 ms. */
static void *reply(void *count)
{
	for (long n = (long)(intptr_t)count; on;) {
		target_sleep_us(20000);
		for (long i = 0; doing == WAIT && i < n; i++)
			if (write(pipes[1], "", 1) != 1)
				target_bad("a reply cannot be sent");
	}
	return NULL;
}

static void command(const char *line)
{
	static const char *const words[] = {"compute", "lock", "wait"};
	for (int i = 0; i < 3; i++)
		if (strcmp(line, words[i]) == 0) {
			doing = COMPUTE + i;
			printf("TURNED %s\n", line);
		}
}

int main(int argc, char **argv)
{
	target_command = command;
	target_start();
	long count = target_arg(argc, argv, 1, 4);
	pthread_t threads[MAX_THREADS], replies;
	if (count < 1 || count > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	if (pipe(pipes) != 0)
		target_bad("no pipe");
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, serve, &fetched[i]) != 0)
			target_bad("no thread %ld", i);
	if (pthread_create(&replies, NULL, reply, (void *)(intptr_t)count) != 0)
		target_bad("no thread for replies");
	target_wait_stop();
	on = 0;
	pthread_join(replies, NULL);
	for (long i = 0; i < count; i++)
		if (write(pipes[1], "", 1) != 1) /* for whom still waits */
			target_bad("a reply cannot be sent");
	uint64_t sum = 0;
	for (long i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += fetched[i];
	}
	if (sum != pages)
		target_bad("%llu pages fetched, %llu counted", (unsigned long long)sum, (unsigned long long)pages);
	target_count("checksums", checksums);
	return target_finish(checksum(seed));
}
