// Cause: sessions wait in lock_wait() for the lock of the table, because the session that has it sleeps in slow_client() meanwhile.
// Right: ExcessiveSyncWaitingTime at lock_wait()
// Right: ExcessiveSyncWaitingTime at lock_table()
// Right: ExcessiveSyncWaitingTime at transaction()
// Right: ExcessiveSyncWaitingTime at slow_client()
// Never: digest()

// A small database. The lock of its table is its own: a queue of sessions, each of
// which waits on a condition variable of its own. Whoever has it waits for his client.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS 6

struct session {
	pthread_cond_t wake;
	int granted;
	struct session *next;
};

static pthread_mutex_t latch = PTHREAD_MUTEX_INITIALIZER;
static struct session *first, **last = &first;
static int taken;
static volatile unsigned long sum;

__attribute__((noinline)) static void lock_wait(struct session *s)
{
	*last = s;
	last = &s->next;
	while (!s->granted)
		pthread_cond_wait(&s->wake, &latch);
}

__attribute__((noinline)) static void lock_table(struct session *s)
{
	pthread_mutex_lock(&latch);
	s->granted = 0;
	s->next = NULL;
	if (taken)
		lock_wait(s);
	taken = 1;
	pthread_mutex_unlock(&latch);
}

__attribute__((noinline)) static void unlock_table(void)
{
	pthread_mutex_lock(&latch);
	if (first) {
		struct session *s = first;
		if (!(first = s->next))
			last = &first;
		s->granted = 1;
		pthread_cond_signal(&s->wake);
	} else {
		taken = 0;
	}
	pthread_mutex_unlock(&latch);
}

__attribute__((noinline)) static void slow_client(void)
{
	struct timespec t = {0, 20000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void digest(void)
{
	for (int i = 0; i < 20000; i++)
		sum += i;
}

__attribute__((noinline)) static void transaction(struct session *s)
{
	lock_table(s);
	slow_client();
	digest();
	unlock_table();
}

static void *serve(void *arg)
{
	struct session s = {.wake = PTHREAD_COND_INITIALIZER};
	(void)arg;
	for (;;)
		transaction(&s);
	return NULL;
}

int main(void)
{
	pthread_t t;
	for (int i = 0; i < SESSIONS; i++)
		pthread_create(&t, NULL, serve, NULL);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
