// Cause: two threads compute all the time, in compress_block(), and fill both CPUs; that the main thread waits for them is how
// it is meant to be.
// Right: CPUbound at compress_block()
// Never: wait_for_worker()
// Never: main()
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, BLOCK = 1 << 20 };

struct worker {
	pthread_t thread;
	pthread_cond_t given;
	unsigned char block[BLOCK];
	int full;
	uint64_t result;
};

static struct worker workers[WORKERS];
static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static volatile uint64_t output;

/* It looks for each byte's last like neighbour, as packers do. */
__attribute__((noinline)) uint64_t compress_block(const unsigned char *block)
{
	static __thread uint32_t last[1 << 14];
	uint64_t saved = 0;
	memset(last, 0, sizeof last);
	for (int round = 0; round < 20; round++)
		for (uint32_t i = 0; i + 4 < BLOCK; i++) {
			uint32_t word;
			memcpy(&word, block + i, 4);
			uint32_t slot = (word * 2654435761u) >> 18;
			uint32_t before = last[slot];
			last[slot] = i;
			saved += memcmp(block + before, block + i, 4) == 0;
		}
	return saved;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	pthread_mutex_lock(&workers_lock);
	for (;;) {
		while (!w->full)
			pthread_cond_wait(&w->given, &workers_lock);
		pthread_mutex_unlock(&workers_lock);
		uint64_t result = compress_block(w->block);
		pthread_mutex_lock(&workers_lock);
		w->result = result;
		w->full = 0;
		pthread_cond_signal(&finished);
	}
	return NULL;
}

__attribute__((noinline)) struct worker *wait_for_worker(void)
{
	pthread_mutex_lock(&workers_lock);
	for (;;) {
		for (int i = 0; i < WORKERS; i++)
			if (!workers[i].full) {
				pthread_mutex_unlock(&workers_lock);
				return &workers[i];
			}
		pthread_cond_wait(&finished, &workers_lock);
	}
}

__attribute__((noinline)) void read_block(struct worker *w, uint64_t n)
{
	for (int i = 0; i < BLOCK; i += 8) {
		n = n * 6364136223846793005u + 1442695040888963407u;
		uint64_t text = n & 0x0f0f0f0f0f0f0f0fu;
		memcpy(w->block + i, &text, 8);
	}
}

__attribute__((noinline)) void give_block(struct worker *w)
{
	pthread_mutex_lock(&workers_lock);
	w->full = 1;
	pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&workers_lock);
}

int main(void)
{
	for (int i = 0; i < WORKERS; i++) {
		pthread_cond_init(&workers[i].given, NULL);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	puts("ready");
	fflush(stdout);
	for (uint64_t n = 1;; n++) {
		struct worker *w = wait_for_worker();
		output += w->result;
		read_block(w, n);
		give_block(w);
	}
}
