// Cause: All eight request threads wait for the one mutex sessions_lock, which refresh_session keeps while it waits for a slow store.
// Right: ExcessiveSyncWaitingTime at lock sessions_lock
// Never: lock statistics_lock
// Never: write_statistics()
// Never: render_answer()
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 8, SESSIONS = 512 };

struct session {
	uint32_t user, seen;
	char name[32];
};

static struct session sessions[SESSIONS];
pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t statistics_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t requests, bytes;

__attribute__((noinline)) void ask_store(struct session *s, uint32_t user)
{
	struct timespec round_trip = {0, 500000};
	nanosleep(&round_trip, NULL);
	s->user = user;
	snprintf(s->name, sizeof s->name, "user %u", user);
}

__attribute__((noinline)) void refresh_session(uint32_t user, struct session *copy)
{
	pthread_mutex_lock(&sessions_lock);
	struct session *s = &sessions[user % SESSIONS];
	if (s->user != user)
		ask_store(s, user);
	s->seen++;
	*copy = *s;
	pthread_mutex_unlock(&sessions_lock);
}

__attribute__((noinline)) uint32_t render_answer(const struct session *s)
{
	uint32_t h = 2166136261u;
	for (int i = 0; i < 2000; i++)
		h = (h ^ (uint32_t)s->name[i % 8]) * 16777619u;
	return h;
}

__attribute__((noinline)) void write_statistics(uint32_t size)
{
	pthread_mutex_lock(&statistics_lock);
	requests++;
	bytes += size;
	pthread_mutex_unlock(&statistics_lock);
}

__attribute__((noinline)) void handle_request(uint32_t user)
{
	struct session s;
	refresh_session(user, &s);
	write_statistics(render_answer(&s) & 1023);
}

static void *worker(void *arg)
{
	uint32_t user = (uint32_t)(uintptr_t)arg;
	for (;;)
		handle_request(user = user * 1664525u + 1013904223u);
	return NULL;
}

int main(void)
{
	pthread_t t[WORKERS];
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	usleep(200000);
	puts("ready");
	fflush(stdout);
	pthread_join(t[0], NULL);
	return 0;
}
