/* Threads are cancelled wherever they are, and each has a destructor to run. */
#include "target.h"
#include <pthread.h>
#include <atomic>

static std::atomic<long> made, gone;
static volatile long sum;

struct Held {
	Held() { made++; }
	~Held() { gone++; }
};

extern "C" {
NOINLINE long leaf(long n) { sum += n; return sum; }
NOINLINE long mid(long n) { return leaf(n) + leaf(n + 1); }
NOINLINE void loops(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
	for (long n = 0;; n++)
		mid(n);
}
NOINLINE void outer(void) { Held h; loops(); }
}

static void *run(void *) { outer(); return 0; }

int main(int argc, char **argv)
{
	target_start();
	target_wait_go();
	for (int n = 0; n < 300; n++) {
		pthread_t t;
		pthread_create(&t, 0, run, 0);
		usleep(2000);
		pthread_cancel(t);
		pthread_join(t, 0);
	}
	target_count("lost", made - gone);
	target_count("made", made);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(7);
}
