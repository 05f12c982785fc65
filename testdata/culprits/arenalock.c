// Cause: the program allows malloc one arena only; six threads that let buffers grow with realloc wait over half of their time
// for the lock of that arena, which realloc keeps while it copies, in grow_buffer().
// Right: ExcessiveSyncWaitingTime at grow_buffer()
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, STEP = 4000, LARGEST = 100000 };

struct buffer {
	size_t size;
	char *data;
};

static volatile uint64_t received;

__attribute__((noinline)) void grow_buffer(struct buffer *b, size_t more)
{
	char *data = realloc(b->data, b->size + more);
	if (!data)
		abort();
	b->data = data;
	b->size += more;
}

__attribute__((noinline)) void receive_part(struct buffer *b, uint64_t n)
{
	grow_buffer(b, STEP);
	memset(b->data + b->size - 64, (int)n, 64);
}

__attribute__((noinline)) void receive_message(uint64_t n)
{
	struct buffer b = {0};
	while (b.size < LARGEST)
		receive_part(&b, n);
	__atomic_fetch_add(&received, (uint64_t)b.data[b.size - 1] & 1, __ATOMIC_RELAXED);
	free(b.data);
}

static void *connection(void *arg)
{
	for (uint64_t n = (uint64_t)(uintptr_t)arg;; n += THREADS)
		receive_message(n);
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
