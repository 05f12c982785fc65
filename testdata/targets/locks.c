/* One thread holds locks of every kind for known times, each round a millisecond or some, and says how long it held each.
 * locks [rounds] */
#include "target.h"
#include <pthread.h>

pthread_mutex_t plain_lock = PTHREAD_MUTEX_INITIALIZER, try_lock = PTHREAD_MUTEX_INITIALIZER,
		busy_lock = PTHREAD_MUTEX_INITIALIZER, outer_lock = PTHREAD_MUTEX_INITIALIZER,
		inner_lock = PTHREAD_MUTEX_INITIALIZER, lent_lock = PTHREAD_MUTEX_INITIALIZER,
		wrapped_lock = PTHREAD_MUTEX_INITIALIZER, again_lock;
pthread_rwlock_t book_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t short_lock;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static uint64_t plain, tried, outer, inner, lent, wrapped, again, book, spun, failed;

NOINLINE void pass(long us) { target_sleep_us(us); }

NOINLINE void hold_plain(void)
{
	pthread_mutex_lock(&plain_lock);
	uint64_t t = target_now_ns();
	pass(1000);
	plain += target_now_ns() - t;
	pthread_mutex_unlock(&plain_lock);
}

NOINLINE void hold_tried(void)
{
	if (pthread_mutex_trylock(&busy_lock) == 0)
		target_bad("busy_lock was free");
	failed++;
	pass(500); /* holding nothing */
	if (pthread_mutex_trylock(&try_lock) != 0)
		target_bad("try_lock was taken");
	uint64_t t = target_now_ns();
	pass(1000);
	tried += target_now_ns() - t;
	pthread_mutex_unlock(&try_lock);
}

NOINLINE void hold_nested(void)
{
	pthread_mutex_lock(&outer_lock);
	uint64_t t = target_now_ns();
	pass(500);
	pthread_mutex_lock(&inner_lock);
	uint64_t u = target_now_ns();
	pass(1000);
	inner += target_now_ns() - u;
	pthread_mutex_unlock(&inner_lock);
	pass(500);
	outer += target_now_ns() - t;
	pthread_mutex_unlock(&outer_lock);
}

NOINLINE void hold_again(void)
{
	pthread_mutex_lock(&again_lock);
	uint64_t t = target_now_ns();
	pthread_mutex_lock(&again_lock);
	pass(500);
	pthread_mutex_unlock(&again_lock);
	pass(500);
	again += target_now_ns() - t;
	pthread_mutex_unlock(&again_lock);
}

/* hold_lent has the mutex but for the three milliseconds in which it waits for what never comes. */
NOINLINE void hold_lent(void)
{
	struct timespec until;
	pthread_mutex_lock(&lent_lock);
	uint64_t t = target_now_ns();
	pass(500);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 3000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	lent += target_now_ns() - t;
	while (pthread_cond_timedwait(&never, &lent_lock, &until) != ETIMEDOUT)
		;
	t = target_now_ns();
	pass(500);
	lent += target_now_ns() - t;
	pthread_mutex_unlock(&lent_lock);
}

/* take and give are what many programs put around their locks: who takes one returns with it. */
NOINLINE uint64_t take(void)
{
	pthread_mutex_lock(&wrapped_lock);
	return target_now_ns();
}

NOINLINE void give(uint64_t since)
{
	wrapped += target_now_ns() - since;
	pthread_mutex_unlock(&wrapped_lock);
}

NOINLINE void hold_wrapped(void)
{
	uint64_t t = take();
	pass(1000);
	give(t);
}

NOINLINE void hold_book(void)
{
	pthread_rwlock_rdlock(&book_lock);
	uint64_t t = target_now_ns();
	pass(500);
	book += target_now_ns() - t;
	pthread_rwlock_unlock(&book_lock);
	pthread_rwlock_wrlock(&book_lock);
	t = target_now_ns();
	pass(500);
	book += target_now_ns() - t;
	pthread_rwlock_unlock(&book_lock);
}

NOINLINE void hold_spun(void)
{
	if (pthread_spin_trylock(&short_lock) != 0) /* glibc's pthread_spin_lock begins with its loop and takes no probe */
		target_bad("short_lock was taken");
	uint64_t t = target_now_ns();
	pass(500);
	spun += target_now_ns() - t;
	pthread_spin_unlock(&short_lock);
}

static void *worker(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		hold_plain();
		hold_tried();
		hold_nested();
		hold_again();
		hold_lent();
		hold_wrapped();
		hold_book();
		hold_spun();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t a;
	pthread_t t;
	target_start();
	long rounds = target_arg(argc, argv, 1, 20);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&again_lock, &a);
	pthread_spin_init(&short_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_lock(&busy_lock);
	target_wait_go();
	pthread_create(&t, NULL, worker, &rounds);
	pthread_join(t, NULL);
	target_count("plain", plain);
	target_count("tried", tried);
	target_count("outer", outer);
	target_count("inner", inner);
	target_count("lent", lent);
	target_count("wrapped", wrapped);
	target_count("again", again);
	target_count("book", book);
	target_count("spun", spun);
	target_count("failed", failed);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(11, (uint64_t)rounds));
}
