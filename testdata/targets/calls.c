/* Exact counts. Threads wait for "go", make known numbers of calls, and the program prints how many it made:
 * plain calls, recursion, sibling calls (jumps at -O2), frames left by longjmp, library calls through the PLT.
 * calls [N calls a thread] [threads] */
#include "target.h"
#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>

enum { MAX_THREADS = 64, RECURSION = 9, JUMP_DEPTH = 5 };

struct tally {
	uint64_t work, recurse, tail_first, tail_second, tail_last, try_jump, deep_jump, deep_jump_returned, getppid, toupper;
	uint64_t hash;
};

static struct tally tallies[MAX_THREADS];
static long calls_each = 1000000;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int gate_open;
static int left_to_do;

NOINLINE uint64_t work(struct tally *t, uint64_t x)
{
	t->work++;
	return target_mix(x, t->work);
}

/* Without the attribute gcc makes a loop of one of the two calls (it accumulates the sum), and half of the calls that the
 * source shows are none that the processor makes. */
__attribute__((optimize("no-optimize-sibling-calls")))
NOINLINE uint64_t recurse(struct tally *t, int n)
{
	t->recurse++;
	if (n <= 0)
		return target_mix(t->recurse, 1);
	return recurse(t, n - 1) + recurse(t, n - 2) * 3;
}

NOINLINE uint64_t tail_last(struct tally *t, uint64_t x)
{
	t->tail_last++;
	return target_mix(x, 77);
}

NOINLINE uint64_t tail_second(struct tally *t, uint64_t x)
{
	t->tail_second++;
	if (x & 1)
		return tail_last(t, x + 3);
	return x;
}

NOINLINE uint64_t tail_first(struct tally *t, uint64_t x)
{
	t->tail_first++;
	return tail_second(t, x * 5);
}

NOINLINE uint64_t deep_jump(struct tally *t, jmp_buf env, int depth, int land)
{
	t->deep_jump++;
	if (depth == 0) {
		if (land)
			longjmp(env, 1);
		return 1;
	}
	uint64_t v = deep_jump(t, env, depth - 1, land) + (uint64_t)depth;
	t->deep_jump_returned++;
	return v;
}

NOINLINE uint64_t try_jump(struct tally *t, int land)
{
	jmp_buf env;
	t->try_jump++;
	if (setjmp(env) != 0)
		return 99;
	return deep_jump(t, env, JUMP_DEPTH, land);
}

NOINLINE uint64_t library_calls(struct tally *t, uint64_t x)
{
	static const char text[] = "instrumentation";
	t->getppid++;
	if (getppid() < 0)
		target_bad("getppid");
	t->toupper++;
	return target_mix(x, (uint64_t)(toupper)(text[x % (sizeof text - 1)]));
}

NOINLINE void all_calls(struct tally *t, uint64_t seed)
{
	uint64_t h = seed;
	for (long i = 0; i < calls_each; i++) {
		h = work(t, h);
		if (i % 64 == 0)
			h = target_mix(h, recurse(t, RECURSION));
		if (i % 4 == 0)
			h = target_mix(h, tail_first(t, h));
		if (i % 128 == 0)
			h = target_mix(h, try_jump(t, i % 256 == 0));
		if (i % 16 == 0)
			h = library_calls(t, h);
	}
	t->hash = h;
}

static void *caller(void *arg)
{
	struct tally *t = arg;
	pthread_mutex_lock(&gate);
	while (!gate_open)
		pthread_cond_wait(&opened, &gate);
	pthread_mutex_unlock(&gate);
	all_calls(t, (uint64_t)(t - tallies) + 1);
	__atomic_fetch_sub(&left_to_do, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void open_gate(void)
{
	pthread_mutex_lock(&gate);
	gate_open = 1;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&gate);
}

#define SUM(field) \
	({ \
		uint64_t sum = 0; \
		for (int i = 0; i < threads; i++) \
			sum += tallies[i].field; \
		sum; \
	})

int main(int argc, char **argv)
{
	pthread_t tid[MAX_THREADS];
	target_start();
	calls_each = target_arg(argc, argv, 1, calls_each);
	int threads = (int)target_arg(argc, argv, 2, 4);
	if (threads < 1 || threads > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	left_to_do = threads;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&tid[i], NULL, caller, &tallies[i]) != 0)
			target_bad("pthread_create");
	target_wait_go();
	open_gate();
	while (__atomic_load_n(&left_to_do, __ATOMIC_ACQUIRE) > 0)
		target_poll(10);
	for (int i = 0; i < threads; i++)
		pthread_join(tid[i], NULL);
	target_count("work", SUM(work));
	target_count("recurse", SUM(recurse));
	target_count("tail_first", SUM(tail_first));
	target_count("tail_second", SUM(tail_second));
	target_count("tail_last", SUM(tail_last));
	target_count("try_jump", SUM(try_jump));
	target_count("deep_jump", SUM(deep_jump));
	target_count("deep_jump_returned", SUM(deep_jump_returned));
	target_count("library_calls", SUM(getppid));
	target_count("getppid", SUM(getppid));
	target_count("toupper", SUM(toupper));
	uint64_t hash = 0;
	for (int i = 0; i < threads; i++)
		hash = target_mix(hash, tallies[i].hash);
	/* Stay until told to go, so that counters can be read and the detach can be seen. */
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
