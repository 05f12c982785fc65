// Cause: all request threads wait for log_lock, because the logger sleeps in throttle() while it holds it.
// Right: ExcessiveSyncWaitingTime at lock log_lock
// Right: ExcessiveSyncWaitingTime at log_line()
// Right: ExcessiveSyncWaitingTime at throttle()
// Never: serve()
// Never: render()

// A small server. Each request does a little work and then writes a line
// to the access log. The log is rate limited inside its lock.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char ring[256][80];
static unsigned lines;

// At most some 300 lines a second may go to the log.
__attribute__((noinline)) static void throttle(void)
{
	struct timespec t = {0, 3000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void log_line(int thread, unsigned size)
{
	pthread_mutex_lock(&log_lock);
	snprintf(ring[lines++ % 256], sizeof ring[0], "thread %d: 200 OK, %u bytes", thread, size);
	throttle();
	pthread_mutex_unlock(&log_lock);
}

__attribute__((noinline)) static unsigned render(unsigned request)
{
	char page[4096];
	unsigned n = 0;
	for (int i = 0; i < 40; i++)
		n += (unsigned)snprintf(page + n, sizeof page - n, "<li>item %u</li>\n", request * 31 + (unsigned)i);
	return n;
}

__attribute__((noinline)) static void *serve(void *arg)
{
	int id = *(int *)arg;
	for (unsigned request = 0;; request++)
		log_line(id, render(request));
	return NULL;
}

int main(void)
{
	static int ids[THREADS];
	pthread_t t;
	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		if (pthread_create(&t, NULL, serve, &ids[i]) != 0) {
			perror("pthread_create");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
