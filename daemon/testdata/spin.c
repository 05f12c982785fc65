/* Two threads that pass a spin lock around, or, without SPIN, a mutex. */
#include "target.h"
#include <pthread.h>

static pthread_spinlock_t spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long shared;

#ifdef SPIN
#define LOCK pthread_spin_lock(&spin)
#define UNLOCK pthread_spin_unlock(&spin)
#else
#define LOCK pthread_mutex_lock(&mutex)
#define UNLOCK pthread_mutex_unlock(&mutex)
#endif

/* turn ends with the program; only the main thread reads what that is told. */
static void *turn(void *mains)
{
	while (mains ? target_running() : !target_stopping) {
		LOCK;
		shared++;
		UNLOCK;
		target_sleep_us(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;
	target_start();
	pthread_spin_init(&spin, 0);
	pthread_create(&t, NULL, turn, NULL);
	turn(&t);
	pthread_join(t, NULL);
	return target_finish(1);
}
