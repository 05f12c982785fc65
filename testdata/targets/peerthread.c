/* Threads that are born when they are told so, meet at barriers inside functions, and make known numbers of calls.
 * Line "born N": N threads begin and wait; each says THREAD <tid> <index>. "work N": each makes N calls times (index + 1) of
 * hammer, and as many of once; it says DONE. "nest N": all are in the same depth of nested at the same time, N times. "leave":
 * they end; LEFT. "go": all of it. COUNT <function> is the number of calls since the program began. */
#include "target.h"
#include <pthread.h>
#include <sys/syscall.h>

enum { MAX_THREADS = 64, DEPTH = 12 };

struct worker {
	pthread_t id;
	uint64_t hammer, once, nested, leaf, hash;
};

static struct worker workers[MAX_THREADS];
static int born;
static long amount;
static enum { NOTHING, BIRTH, WORK, NEST, LEAVE, ALL } wanted;
static enum { WORKING, NESTING, LEAVING } order;
static pthread_barrier_t begin, end, meet;
static uint64_t threads_ever, hammered, onced, nested_ever, leaves_ever, hash;

NOINLINE void hammer(struct worker *w)
{
	w->hammer++;
}

NOINLINE uint64_t once(struct worker *w, uint64_t x)
{
	w->once++;
	return target_mix(x, 3);
}

NOINLINE uint64_t leaf(struct worker *w, uint64_t x)
{
	w->leaf++;
	return target_mix(x, 4);
}

__attribute__((optimize("no-optimize-sibling-calls"))) NOINLINE uint64_t nested(struct worker *w, int depth, uint64_t x)
{
	w->nested++;
	if (depth == DEPTH / 2)
		pthread_barrier_wait(&meet); /* every thread is in every one of these frames now */
	if (depth == 0)
		return leaf(w, x);
	return nested(w, depth - 1, leaf(w, x)) + 1;
}

static void work(struct worker *w, long n)
{
	for (long i = 0; i < n * (w - workers + 1); i++) {
		hammer(w);
		w->hash = once(w, w->hash);
	}
}

static void nest(struct worker *w, long n)
{
	for (long i = 0; i < n; i++)
		w->hash = nested(w, DEPTH, w->hash);
}

NOINLINE void *life(void *arg)
{
	struct worker *w = arg;
	char name[16];
	snprintf(name, sizeof name, "peer-%d", (int)(w - workers));
	pthread_setname_np(pthread_self(), name);
	printf("THREAD %ld %d\n", syscall(SYS_gettid), (int)(w - workers));
	for (;;) {
		pthread_barrier_wait(&begin);
		if (order == LEAVING)
			return NULL;
		if (order == WORKING)
			work(w, amount);
		else
			nest(w, amount);
		pthread_barrier_wait(&end);
	}
}

static void give_birth(int n)
{
	if (born || n < 1 || n > MAX_THREADS)
		target_bad("threads: 1 to %d, once", MAX_THREADS);
	pthread_barrier_init(&begin, NULL, (unsigned)n + 1);
	pthread_barrier_init(&end, NULL, (unsigned)n + 1);
	pthread_barrier_init(&meet, NULL, (unsigned)n);
	memset(workers, 0, sizeof workers);
	for (born = 0; born < n; born++)
		if (pthread_create(&workers[born].id, NULL, life, &workers[born]) != 0)
			target_bad("pthread_create");
	threads_ever += (uint64_t)n;
}

static void have_done(int what)
{
	order = what;
	pthread_barrier_wait(&begin);
	if (what != LEAVING)
		pthread_barrier_wait(&end);
}

static void let_go(void)
{
	if (!born)
		return;
	have_done(LEAVING);
	for (int i = 0; i < born; i++) {
		pthread_join(workers[i].id, NULL);
		hammered += workers[i].hammer, onced += workers[i].once, nested_ever += workers[i].nested, leaves_ever += workers[i].leaf;
		hash = target_mix(hash, workers[i].hash);
	}
	memset(workers, 0, sizeof workers);
	born = 0;
	pthread_barrier_destroy(&begin), pthread_barrier_destroy(&end), pthread_barrier_destroy(&meet);
}

static void report(void)
{
	uint64_t h = hammered, o = onced, n = nested_ever, l = leaves_ever;
	for (int i = 0; i < born; i++)
		h += workers[i].hammer, o += workers[i].once, n += workers[i].nested, l += workers[i].leaf;
	target_count("threads", threads_ever);
	target_count("hammer", h);
	target_count("once", o);
	target_count("nested", n);
	target_count("leaf", l);
}

static void command(const char *line)
{
	if (sscanf(line, "born %ld", &amount) == 1)
		wanted = BIRTH;
	else if (sscanf(line, "work %ld", &amount) == 1)
		wanted = WORK;
	else if (sscanf(line, "nest %ld", &amount) == 1)
		wanted = NEST;
	else if (strcmp(line, "leave") == 0)
		wanted = LEAVE;
}

static void obey(void)
{
	int what = wanted;
	wanted = NOTHING;
	if (what == BIRTH)
		give_birth((int)amount);
	if (what == LEAVE)
		let_go();
	if ((what == WORK || what == NEST) && born) {
		have_done(what == WORK ? WORKING : NESTING);
		report();
		printf("DONE\n");
	}
	if (what == LEAVE)
		printf("LEFT\n");
}

static void everything(void)
{
	let_go();
	give_birth(8);
	amount = 1000;
	have_done(WORKING);
	amount = 20;
	have_done(NESTING);
	let_go();
}

int main(void)
{
	int warm = 0;
	target_start();
	target_command = command;
	while (!target_stopping) {
		target_poll(20);
		if (target_going && !target_stopping && !warm) {
			warm = 1;
			everything();
		}
		obey();
	}
	let_go();
	report();
	return target_finish(hash);
}
