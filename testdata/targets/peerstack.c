/* A thread that stands at known places of its stack as long as it is told to: in stack_three, which stack_two called, which
 * stack_one called; or, interrupted there, in stack_four below a signal handler. It looks at its own stack all the time: the
 * return addresses must be the same at every look, whoever instruments the functions.
 * Line "enter": into stack_three; IN three. "signal": into the handler from there; IN four. "release": back; OUT.
 * COUNT <function> is the number of calls, traces the number of looks. */
#include "target.h"
#include <execinfo.h>
#include <pthread.h>

enum { MAX_FRAMES = 32, THREE, FOUR, BODY = 256 };

struct trace {
	void *pc[MAX_FRAMES];
	int depth;
};

static struct {
	uint64_t one, two, three, four, handler, traces;
} tally;
static struct trace known[3]; /* the first look from each of the three places */
static volatile int wanted, inside, go, out, leaving;
static pthread_t thread;

void stack_three(void);

/* anywhere reports whether both are in stack_three, which a signal interrupts at any of its instructions. */
static int anywhere(const char *a, const char *b)
{
	const char *body = (const char *)stack_three;
	return a > body && a < body + BODY && b > body && b < body + BODY;
}

/* look compares the stack with what it was at the first look from the same place. interrupted: a frame that did not make a
 * call, 0 if there is none. */
NOINLINE void look(struct trace *first, int interrupted)
{
	struct trace now = {.depth = 0};
	now.depth = backtrace(now.pc, MAX_FRAMES);
	tally.traces++;
	if (now.depth < 4)
		target_bad("a stack of %d frames", now.depth);
	if (first->depth == 0)
		*first = now;
	if (first->depth != now.depth)
		target_bad("%d frames, there were %d", now.depth, first->depth);
	for (int i = 1; i < now.depth; i++) /* its own frame is that of this function */
		if (now.pc[i] != first->pc[i] && (i != interrupted || !anywhere(now.pc[i], first->pc[i])))
			target_bad("frame %d returns to %p, it did to %p", i, now.pc[i], first->pc[i]);
}

NOINLINE void stack_four(void)
{
	tally.four++;
	inside = FOUR;
	while (!out)
		look(&known[1], 4); /* look, stack_four, on_signal, the kernel's frame, stack_three */
	__asm__ volatile("" ::: "memory");
}

NOINLINE void on_signal(int sig)
{
	(void)sig;
	tally.handler++;
	stack_four();
	__asm__ volatile("" ::: "memory");
}

NOINLINE void stack_three(void)
{
	tally.three++;
	inside = THREE;
	look(&known[0], 0);
	while (!out)
		;
	look(&known[2], 0);
	__asm__ volatile("" ::: "memory");
}

NOINLINE void stack_two(void)
{
	tally.two++;
	stack_three();
	__asm__ volatile("" ::: "memory");
}

NOINLINE void stack_one(void)
{
	tally.one++;
	stack_two();
	__asm__ volatile("" ::: "memory");
}

static void *life(void *arg)
{
	while (!leaving) {
		if (!go) {
			target_sleep_us(500);
			continue;
		}
		go = 0;
		stack_one();
		inside = 0;
	}
	return arg;
}

static void command(const char *line)
{
	if (strcmp(line, "enter") == 0)
		wanted = 'e';
	else if (strcmp(line, "signal") == 0)
		wanted = 's';
	else if (strcmp(line, "release") == 0)
		wanted = 'r';
}

static void await(int place)
{
	while (inside != place)
		target_poll(1);
}

static void obey(int what)
{
	if (what == 'e' && !inside) {
		out = 0, go = 1;
		await(THREE);
		printf("IN three\n");
	}
	if (what == 's' && inside == THREE) {
		pthread_kill(thread, SIGUSR1);
		await(FOUR);
		printf("IN four\n");
	}
	if (what == 'r' && inside) {
		out = 1;
		await(0);
		printf("OUT\n");
	}
}

int main(void)
{
	struct sigaction sa;
	void *warm[4];
	int warmed = 0;
	target_start();
	backtrace(warm, 4); /* it loads a library the first time */
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_signal;
	sigaction(SIGUSR1, &sa, NULL);
	target_command = command;
	pthread_create(&thread, NULL, life, NULL);
	while (!target_stopping) {
		target_poll(5);
		if (target_going && !target_stopping && !warmed) {
			warmed = 1;
			obey('e'), obey('s'), obey('r');
		}
		int what = wanted;
		wanted = 0;
		obey(what);
	}
	obey('r');
	leaving = 1;
	pthread_join(thread, NULL);
	target_count("stack_one", tally.one);
	target_count("stack_two", tally.two);
	target_count("stack_three", tally.three);
	target_count("stack_four", tally.four);
	target_count("on_signal", tally.handler);
	target_count("traces", tally.traces);
	return target_finish(target_mix(tally.one, tally.handler));
}
