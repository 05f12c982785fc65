/* Looks as if it scheduled its own contexts, and does not: a timer's handler runs on a stack of its own, and code that never runs leaves for
 * another context. */
#include "target.h"
#include <pthread.h>
#include <ucontext.h>

static volatile uint64_t one = 1, turns;
static volatile int never;

NOINLINE uint64_t small(uint64_t a, uint64_t b) { return (a ^ (a >> 7)) * 5 + b; }

NOINLINE uint64_t spin(void)
{
	uint64_t h = one;
	for (int i = 0; i < 100000; i++)
		h = small(h, i);
	return h;
}

static void on_tick(int sig)
{
	(void)sig;
	turns += spin() != 0;
}

static void *idler(void *p)
{
	for (;;)
		pause();
	return p;
}

int main(void)
{
	stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, 1000000}, {0, 1000000}};
	timer_t timer;
	pthread_t thread;
	sigset_t tick;

	target_start();
	sigemptyset(&tick);
	sigaddset(&tick, SIGUSR1);
	sigprocmask(SIG_BLOCK, &tick, NULL);
	pthread_create(&thread, NULL, idler, NULL);
	sigprocmask(SIG_UNBLOCK, &tick, NULL);
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	timer_settime(timer, 0, &every, NULL);
	while (target_running()) {
		spin();
		if (never) {
			ucontext_t c;
			getcontext(&c);
			setcontext(&c);
		}
	}
	return target_finish(spin());
}
