// Cause: for two of every four seconds all requests wait for state_lock, which write_snapshot() keeps while it computes; in the
// other two the program is as good as idle.
// Right: ExcessiveSyncWaitingTime at lock state_lock
// Right: ExcessiveSyncWaitingTime at apply_update()
// Right: CPUbound at write_snapshot() and lock state_lock
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CLIENTS = 4, KEYS = 1 << 16 };

pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state[KEYS];
static unsigned char snapshot[KEYS * 8];

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) void serialise_state(void)
{
	uint64_t sum = 0;
	for (int k = 0; k < KEYS; k++) {
		sum = (sum ^ state[k]) * 1099511628211u;
		memcpy(snapshot + k * 8, &sum, 8);
	}
}

__attribute__((noinline)) void write_snapshot(void)
{
	pthread_mutex_lock(&state_lock);
	for (double end = seconds() + 2; seconds() < end;)
		serialise_state();
	pthread_mutex_unlock(&state_lock);
}

__attribute__((noinline)) void apply_update(uint64_t n)
{
	pthread_mutex_lock(&state_lock);
	for (int i = 0; i < 16; i++)
		state[(n * 2654435761u + (uint64_t)i) % KEYS] += n;
	pthread_mutex_unlock(&state_lock);
}

__attribute__((noinline)) void next_request(void)
{
	pause_ms(2);
}

static void *client(void *arg)
{
	for (uint64_t n = (uint64_t)(uintptr_t)arg;; n += CLIENTS) {
		next_request();
		apply_update(n);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[CLIENTS];
	for (uintptr_t i = 0; i < CLIENTS; i++)
		pthread_create(&t[i], NULL, client, (void *)i);
	puts("ready");
	fflush(stdout);
	for (;;) {
		pause_ms(2000);
		write_snapshot();
	}
}
