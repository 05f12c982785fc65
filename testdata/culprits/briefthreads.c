// Cause: a server starts a thread for each connection, six at a time; each lives about 50 ms, and waits most of that for
// catalogue_lock, in look_up(), which keeps it while it computes.
// Right: ExcessiveSyncWaitingTime at look_up()
// Right: ExcessiveSyncWaitingTime at lock catalogue_lock
// Right: CPUbound at scan_catalogue() and lock catalogue_lock
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 6, ITEMS = 1 << 16 };

pthread_mutex_t catalogue_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t catalogue[ITEMS];
static sem_t places;
static volatile uint64_t found;

__attribute__((noinline)) uint32_t scan_catalogue(uint32_t key)
{
	uint32_t best = 0;
	for (int round = 0; round < 64; round++)
		for (int i = 0; i < ITEMS; i++)
			best = (best ^ catalogue[i] ^ key) * 16777619u;
	return best;
}

__attribute__((noinline)) uint32_t look_up(uint32_t key)
{
	pthread_mutex_lock(&catalogue_lock);
	uint32_t item = scan_catalogue(key);
	catalogue[key % ITEMS]++;
	pthread_mutex_unlock(&catalogue_lock);
	return item;
}

static void *serve_connection(void *arg)
{
	uint32_t item = look_up((uint32_t)(uintptr_t)arg);
	__atomic_fetch_add(&found, item & 1, __ATOMIC_RELAXED);
	sem_post(&places);
	return NULL;
}

__attribute__((noinline)) void accept_connection(uintptr_t n)
{
	pthread_t t;
	while (sem_wait(&places) != 0)
		;
	if (pthread_create(&t, NULL, serve_connection, (void *)n) != 0)
		abort();
	pthread_detach(t);
}

int main(void)
{
	sem_init(&places, 0, AT_ONCE);
	puts("ready");
	fflush(stdout);
	for (uintptr_t n = 1;; n++)
		accept_connection(n);
}
