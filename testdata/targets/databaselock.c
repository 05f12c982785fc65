/* Three sessions wait for a lock as PostgreSQL has it: in epoll_wait, each for a latch of its own, below a function of that name. Who has the lock sleeps
 * with it, and hands it on two times a second. Nothing but the function tells this from sessions with nothing to do. */
#include "target.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define SESSIONS 3

static int latch[SESSIONS], poller[SESSIONS];
static uint64_t got[SESSIONS];
static volatile int on = 1;

NOINLINE void LockAcquireExtended(int me)
{
	struct epoll_event e;
	uint64_t n;
	while (epoll_wait(poller[me], &e, 1, -1) < 0)
		if (errno != EINTR)
			target_bad("epoll_wait: %s", strerror(errno));
	if (read(latch[me], &n, sizeof n) != sizeof n)
		target_bad("latch");
}

static void *session(void *arg)
{
	int me = (int)(long)arg;
	while (on) {
		LockAcquireExtended(me);
		got[me]++;
	}
	return NULL;
}

static void *holder(void *arg)
{
	uint64_t one = 1;
	for (int next = 0; on; next = (next + 1) % SESSIONS) {
		target_sleep_us(500000);
		if (write(latch[next], &one, sizeof one) != sizeof one)
			target_bad("set latch");
	}
	for (int i = 0; i < SESSIONS; i++)
		if (write(latch[i], &one, sizeof one) != sizeof one)
			target_bad("set latch");
	return arg;
}

int main(void)
{
	pthread_t t[SESSIONS + 1];
	target_start();
	for (long i = 0; i < SESSIONS; i++) {
		latch[i] = eventfd(0, 0);
		poller[i] = epoll_create1(0);
		struct epoll_event e = {.events = EPOLLIN};
		if (latch[i] < 0 || poller[i] < 0 || epoll_ctl(poller[i], EPOLL_CTL_ADD, latch[i], &e) != 0)
			target_bad("no latch: %s", strerror(errno));
		pthread_create(&t[i], NULL, session, (void *)i);
	}
	pthread_create(&t[SESSIONS], NULL, holder, NULL);
	target_wait_stop();
	on = 0;
	uint64_t sum = 0;
	for (int i = 0; i <= SESSIONS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < SESSIONS; i++)
		sum += got[i];
	target_count("LockAcquireExtended", sum);
	return target_finish(target_mix(12345, 1));
}
