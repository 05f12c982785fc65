/* Schedules its own contexts: a timer's signal arrives where it likes, and the handler leaves by swapcontext. A context that does not
 * run stands anywhere in the small functions, and no thread's registers or stack say so.
 * Argument 1: "library" to leave by swapcontext (default), "hand" to exchange the registers that the kernel has saved for the handler,
 * which takes no function at all, "never" to have the handler without a timer. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#define CONTEXTS 24
#define STACK (256 << 10)
#define SMALL(n) \
	NOINLINE static uint64_t small##n(uint64_t a, uint64_t b) { return (a ^ (a >> 7)) * (2 * n + 3) + b; }
SMALL(0) SMALL(1) SMALL(2) SMALL(3) SMALL(4) SMALL(5) SMALL(6) SMALL(7)
SMALL(8) SMALL(9) SMALL(10) SMALL(11) SMALL(12) SMALL(13) SMALL(14) SMALL(15)

static ucontext_t context[CONTEXTS + 1]; /* 0 is main's */
static gregset_t saved[CONTEXTS + 1];
static int current, by_hand;
static volatile uint64_t expected, units, one = 1;

NOINLINE static uint64_t unit(uint64_t h)
{
	for (int i = 0; i < 40; i++) {
		h = small0(h, i), h = small1(h, i), h = small2(h, i), h = small3(h, i);
		h = small4(h, i), h = small5(h, i), h = small6(h, i), h = small7(h, i);
		h = small8(h, i), h = small9(h, i), h = small10(h, i), h = small11(h, i);
		h = small12(h, i), h = small13(h, i), h = small14(h, i), h = small15(h, i);
	}
	return h;
}

/* body begins with the signal blocked: swapcontext sets the mask while it is still on the stack of the context that it leaves, where the
 * handler would save this context on that one's stack. */
static void body(void)
{
	sigset_t tick;

	sigemptyset(&tick);
	sigaddset(&tick, SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &tick, NULL);
	for (;;) {
		if (unit(one) != expected)
			target_bad("a context's work came out wrong");
		units++;
	}
}

static void on_tick(int sig, siginfo_t *info, void *p)
{
	ucontext_t *uc = p;
	int was = current;
	(void)sig, (void)info;
	current = (current + 1) % (CONTEXTS + 1);
	if (!by_hand) {
		swapcontext(&context[was], &context[current]);
		return;
	}
	greg_t segments = uc->uc_mcontext.gregs[REG_CSGSFS];
	memcpy(saved[was], uc->uc_mcontext.gregs, sizeof(gregset_t));
	memcpy(uc->uc_mcontext.gregs, saved[current], sizeof(gregset_t));
	uc->uc_mcontext.gregs[REG_CSGSFS] = segments;
}

/* idler is a thread like any other. */
static void *idler(void *p)
{
	for (;;)
		pause();
	return p;
}

int main(int argc, char **argv)
{
	sigset_t tick;
	struct sigaction sa = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, 200000}, {0, 200000}};
	timer_t timer;
	pthread_t thread;

	int never = argc > 1 && strcmp(argv[1], "never") == 0;
	by_hand = argc > 1 && strcmp(argv[1], "hand") == 0;
	target_start();
	expected = unit(one);
	sigemptyset(&tick);
	sigaddset(&tick, SIGUSR1);
	sigprocmask(SIG_BLOCK, &tick, NULL);
	for (int i = 1; i <= CONTEXTS; i++) {
		char *stack = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(stack + 4096, STACK, PROT_READ | PROT_WRITE);
		getcontext(&context[i]);
		context[i].uc_stack.ss_sp = stack + 4096;
		context[i].uc_stack.ss_size = STACK;
		makecontext(&context[i], body, 0);
		memcpy(saved[i], context[i].uc_mcontext.gregs, sizeof(gregset_t));
	}
	pthread_create(&thread, NULL, idler, NULL);
	sa.sa_mask = tick;
	sigaction(SIGUSR1, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	if (!never)
		timer_settime(timer, 0, &every, NULL);
	while (target_running()) {
		if (never) {
			target_poll(10);
			units++;
		} else if (by_hand) { /* the next tick takes main off, and the last context's tick brings it back */
			sigprocmask(SIG_UNBLOCK, &tick, NULL);
			while (current != 0)
				;
			for (volatile int i = 0; i < 2000; i++)
				;
			sigprocmask(SIG_BLOCK, &tick, NULL);
		} else {
			current = 1;
			swapcontext(&context[0], &context[1]);
		}
	}
	if (units == 0)
		target_bad("no context ran");
	return target_finish(expected);
}
