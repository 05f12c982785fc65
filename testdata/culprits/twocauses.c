// Cause: Two causes of about the same weight: one thread computes without a pause in compress_block, and four threads that answer requests wait for
// cache_lock, which is held during a slow look-up. The waits of the four are the larger part.
// Right: ExcessiveSyncWaitingTime at lock cache_lock
// Right: CPUbound at compress_block()
// Never: checksum_request()
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 4, BLOCK = 1 << 14 };

pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t cache[256];
static uint64_t archived;

__attribute__((noinline)) uint32_t load_from_disk(uint32_t key)
{
	struct timespec seek = {0, 2000000};
	nanosleep(&seek, NULL);
	return key * 2654435761u;
}

__attribute__((noinline)) uint32_t look_up(uint32_t key)
{
	pthread_mutex_lock(&cache_lock);
	uint32_t value = cache[key % 256] = load_from_disk(key);
	pthread_mutex_unlock(&cache_lock);
	return value;
}

__attribute__((noinline)) uint32_t checksum_request(uint32_t value)
{
	for (int i = 0; i < 1000; i++)
		value = value * 31 + (uint32_t)i;
	return value;
}

static void *client(void *arg)
{
	uint32_t key = (uint32_t)(uintptr_t)arg;
	for (;;)
		key = checksum_request(look_up(key));
	return NULL;
}

/* Runs of equal bytes, and the longest match in the last 64 bytes of what is different. */
__attribute__((noinline)) size_t compress_block(const unsigned char *in, size_t size, unsigned char *out)
{
	size_t written = 0;
	for (size_t i = 0; i < size;) {
		size_t best = 0, from = 0;
		for (size_t back = 1; back <= 64 && back <= i; back++) {
			size_t n = 0;
			while (i + n < size && n < 255 && in[i + n] == in[i + n - back])
				n++;
			if (n > best) {
				best = n;
				from = back;
			}
		}
		out[written++ % BLOCK] = best > 2 ? (unsigned char)from : in[i];
		i += best > 2 ? best : 1;
	}
	return written;
}

__attribute__((noinline)) void fill_block(unsigned char *block)
{
	static uint32_t h = 1;
	for (size_t i = 0; i < BLOCK; i++)
		block[i] = (unsigned char)((h = h * 1664525u + 1013904223u) >> 29);
}

static void *archiver(void *arg)
{
	static unsigned char block[BLOCK], out[BLOCK];
	(void)arg;
	for (;;) {
		fill_block(block);
		archived += compress_block(block, BLOCK, out);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[CLIENTS + 1];
	for (uintptr_t i = 0; i < CLIENTS; i++)
		pthread_create(&t[i], NULL, client, (void *)(i + 1));
	pthread_create(&t[CLIENTS], NULL, archiver, NULL);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	pthread_join(t[0], NULL);
	return 0;
}
