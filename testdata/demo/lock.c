/* culprit-demo-lock: a session server whose threads wait for one another. Every request takes the global mutex
 * session_table_lock, and find_session keeps it while it waits for a slow store.
 * It prints a line every five seconds and ends at SIGTERM or Ctrl-C. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 8, SESSIONS = 1024 };

struct session {
	uint32_t user;
	uint32_t hits;
	char name[24];
};

static struct session session_table[SESSIONS];
pthread_mutex_t session_table_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_lines[64][64];
static unsigned log_next;
static volatile sig_atomic_t stopping;
static uint64_t served;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

/* fetch_from_store stands for a request to a database on another machine. */
__attribute__((noinline)) void fetch_from_store(struct session *s, uint32_t user)
{
	struct timespec round_trip = {0, 400000};
	nanosleep(&round_trip, NULL);
	s->user = user;
	snprintf(s->name, sizeof s->name, "user-%u", user);
}

/* The culprit: the lock of the whole table is held during the round trip. */
__attribute__((noinline)) void find_session(uint32_t user, struct session *copy)
{
	pthread_mutex_lock(&session_table_lock);
	struct session *s = &session_table[user % SESSIONS];
	if (s->user != user)
		fetch_from_store(s, user);
	s->hits++;
	*copy = *s;
	pthread_mutex_unlock(&session_table_lock);
}

__attribute__((noinline)) uint32_t render_page(const struct session *s)
{
	uint32_t h = 2166136261u;
	for (int round = 0; round < 200; round++)
		for (const char *c = s->name; *c; c++)
			h = (h ^ (uint32_t)*c) * 16777619u;
	return h;
}

__attribute__((noinline)) void write_log(const struct session *s, uint32_t page)
{
	pthread_mutex_lock(&log_lock);
	snprintf(last_lines[log_next++ % 64], sizeof last_lines[0], "%s %08x", s->name, page);
	pthread_mutex_unlock(&log_lock);
}

__attribute__((noinline)) void serve_request(uint32_t user)
{
	struct session s;
	find_session(user, &s);
	write_log(&s, render_page(&s));
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
}

static void *worker(void *arg)
{
	uint32_t user = (uint32_t)(uintptr_t)arg;
	while (!stopping)
		serve_request(user = user * 1664525u + 1013904223u);
	return NULL;
}

int main(void)
{
	pthread_t t[WORKERS];
	signal(SIGTERM, on_stop);
	signal(SIGINT, on_stop);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	for (int tenths = 0; !stopping; tenths++) {
		usleep(100000);
		if (tenths % 50 == 49)
			printf("sessions: %llu requests served\n", (unsigned long long)__atomic_load_n(&served, __ATOMIC_RELAXED));
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	printf("sessions: done\n");
	return 0;
}
