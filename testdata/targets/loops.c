/* Loops. Threads wait for "go", go round loops that are left in every way, and the program prints how often each was entered,
 * turned and left. All are do-while loops, so that what a turn is does not depend on how the compiler turns them.
 * loops [N calls a thread] [threads] */
#include "target.h"
#include <pthread.h>

enum { MAX_THREADS = 64 };

struct tally {
	uint64_t outer_enter, outer, inner_enter, inner, inner_break, inner_return, leaf_inside, leaf_outside, chosen, deep;
	uint64_t hash;
};

static struct tally tallies[MAX_THREADS];
static long calls_each = 100000;
static int left_to_do;

NOINLINE uint64_t leaf(uint64_t x) { return target_mix(x, 5); }

/* nest: one loop in another; the inner one is also left by break, and by a return of the function. */
NOINLINE uint64_t nest(struct tally *t, uint64_t n, uint64_t x)
{
	t->outer_enter++;
	do {
		uint64_t k = x & 7;
		t->outer++;
		t->inner_enter++;
		do {
			t->inner++;
			t->leaf_inside++;
			x = leaf(x ^ k);
			if ((x & 63) == 7) {
				t->inner_break++;
				break;
			}
			if ((x & 1023) == 99) {
				t->inner_return++;
				return x;
			}
		} while (k-- > 0);
		x += n;
	} while (--n > 0);
	return x;
}

/* choose: a switch inside a loop, with a turn that begins anew in the middle. */
NOINLINE uint64_t choose(struct tally *t, uint64_t n, uint64_t x)
{
	do {
		t->chosen++;
		switch (x % 7) {
		case 0: x = leaf(x); break;
		case 1: x += 3; break;
		case 2: x = leaf(x + 1); continue;
		case 3: x ^= n; break;
		case 4: x = x * 5 + 1; break;
		case 5: x = leaf(x * 3); break;
		default: x = target_mix(x, n); break;
		}
		t->leaf_outside += x & 1;
	} while (n-- > 0);
	return x;
}

/* deep: the function calls itself from inside its loop. */
NOINLINE uint64_t deep(struct tally *t, int n, uint64_t x)
{
	int i = 0;
	do {
		t->deep++;
		if (n > 0)
			x = deep(t, n - 1, x + 1) + 1;
	} while (++i < 3);
	return x;
}

static void *runner(void *arg)
{
	struct tally *t = arg;
	uint64_t h = (uint64_t)(t - tallies) + 1;
	for (long i = 0; i < calls_each; i++) {
		h = nest(t, 1 + (h & 3), h);
		h = target_mix(choose(t, h & 15, h), leaf(h));
		if (i % 16 == 0)
			h = deep(t, 3, h);
	}
	t->hash = h;
	__atomic_fetch_sub(&left_to_do, 1, __ATOMIC_RELEASE);
	return NULL;
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
	int threads = (int)target_arg(argc, argv, 2, 2);
	if (threads < 1 || threads > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	left_to_do = threads;
	target_wait_go();
	for (int i = 0; i < threads; i++)
		if (pthread_create(&tid[i], NULL, runner, &tallies[i]) != 0)
			target_bad("pthread_create");
	while (__atomic_load_n(&left_to_do, __ATOMIC_ACQUIRE) > 0)
		target_poll(10);
	for (int i = 0; i < threads; i++)
		pthread_join(tid[i], NULL);
	target_count("outer_enter", SUM(outer_enter));
	target_count("outer", SUM(outer));
	target_count("inner_enter", SUM(inner_enter));
	target_count("inner", SUM(inner));
	target_count("inner_break", SUM(inner_break));
	target_count("inner_return", SUM(inner_return));
	target_count("leaf_inside", SUM(leaf_inside));
	target_count("chosen", SUM(chosen));
	target_count("deep", SUM(deep));
	uint64_t hash = 0;
	for (int i = 0; i < threads; i++)
		hash = target_mix(hash, tallies[i].hash);
	/* Stay until told to go, so that counters can be read and the detach can be seen. */
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
