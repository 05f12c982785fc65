/* A thread waits in each way of C11's threads: for a mutex, a condition variable and the end of a thread. Another thread lets it
 * wait for 5 ms each time.
 * c11 [rounds] */
#include "target.h"
#include <stdatomic.h>
#include <threads.h>

mtx_t guard;
cnd_t changed;
static atomic_int turn, done; /* what the waiter waits for now; negative once the partner has what it wants */
static int ready;
static uint64_t mutex_ns, condition_ns, thread_ns, locks;

enum { NOTHING, MUTEX, CONDITION, END };

static void settled(void)
{
	while (turn != NOTHING)
		target_sleep_us(100);
}

NOINLINE int lock_guard(void)
{
	int result = mtx_lock(&guard);
	locks++;
	return result;
}

NOINLINE void wait_mutex(void)
{
	turn = MUTEX;
	while (turn == MUTEX)
		target_sleep_us(100);
	uint64_t t = target_now_ns();
	if (lock_guard() != thrd_success)
		target_bad("the mutex cannot be locked");
	mutex_ns += target_now_ns() - t;
	mtx_unlock(&guard);
	settled();
}

NOINLINE void wait_condition(void)
{
	mtx_lock(&guard);
	locks++;
	ready = 0;
	turn = CONDITION;
	uint64_t t = target_now_ns();
	while (!ready)
		cnd_wait(&changed, &guard);
	condition_ns += target_now_ns() - t;
	mtx_unlock(&guard);
	settled();
}

static int napper(void *arg)
{
	target_sleep_us(5000);
	return arg != NULL;
}

NOINLINE void wait_thread(void)
{
	thrd_t n;
	int result;
	thrd_create(&n, napper, NULL);
	uint64_t t = target_now_ns();
	thrd_join(n, &result);
	thread_ns += target_now_ns() - t;
	if (result != 0)
		target_bad("the thread returned %d", result);
}

static int partner(void *arg)
{
	(void)arg;
	for (;;) {
		switch (turn) {
		case END:
			return 0;
		case MUTEX:
			mtx_lock(&guard);
			locks++;
			turn = -MUTEX;
			target_sleep_us(5000);
			mtx_unlock(&guard);
			turn = NOTHING;
			break;
		case CONDITION:
			target_sleep_us(5000);
			mtx_lock(&guard);
			locks++;
			ready = 1;
			cnd_signal(&changed);
			mtx_unlock(&guard);
			turn = NOTHING;
			break;
		default:
			target_sleep_us(100);
		}
	}
}

static int waiter(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		wait_mutex();
		wait_condition();
		wait_thread();
	}
	turn = END;
	done = 1;
	return 0;
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 10);
	thrd_t a, b;
	mtx_init(&guard, mtx_plain);
	cnd_init(&changed);
	target_wait_go();
	thrd_create(&a, waiter, &rounds);
	thrd_create(&b, partner, NULL);
	while (!done)
		target_poll(20);
	target_sleep_us(100000); /* so that nobody is waited for when they are joined */
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	target_count("mutex", mutex_ns);
	target_count("condition", condition_ns);
	target_count("thread", thread_ns);
	target_count("locks", locks);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(11, (uint64_t)rounds));
}
