// Cause: the program allows malloc one arena only; six threads that renew large buffers wait over half of their time for the
// lock of that arena, in renew_buffer().
// Right: ExcessiveSyncWaitingTime at renew_buffer()
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, BUFFERS = 400 };

struct buffer {
	size_t size;
	char data[];
};

static volatile uint64_t sum;

/* Buffers are too large for the cache that malloc keeps for each thread. */
__attribute__((noinline)) struct buffer *renew_buffer(struct buffer *old, size_t size)
{
	free(old);
	struct buffer *b = malloc(sizeof *b + size);
	if (!b)
		abort();
	b->size = size;
	return b;
}

__attribute__((noinline)) uint64_t fill_header(struct buffer *b, uint64_t id)
{
	for (size_t i = 0; i < 64; i++)
		b->data[i] = (char)(id >> (i & 31));
	return (uint64_t)b->data[id & 63];
}

static void *connection(void *arg)
{
	struct buffer *buffers[BUFFERS] = {0};
	uint64_t seed = (uint64_t)(uintptr_t)arg, total = 0;
	for (;;) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		struct buffer **slot = &buffers[(seed >> 33) % BUFFERS];
		*slot = renew_buffer(*slot, 1200 + (seed >> 40) % 24000);
		total += fill_header(*slot, seed);
		sum = total;
	}
	return NULL;
}

int main(void)
{
	mallopt(M_ARENA_MAX, 1);
	pthread_t t[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, connection, (void *)(i + 1));
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
