/* A server of many processes: children that are forked and execute nothing, each with threads that do a little work and sleep.
 * COUNT work is what all of them did, work_least and work_most what the laziest and the busiest child did, work_gone what those
 * did that have ended. The numbers lie in memory that all share.
 * crowd [children [threads of each [us between works]]]
 * Line "more N": N more children. Line "end N": the N oldest end; the line GONE says when. Line "pause": nobody works any more. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MAX_CHILDREN = 1000, MAX_THREADS = 64 };
struct child {
	pid_t pid;
	uint64_t works;
	volatile int end;
	int gone;
};
static struct shared {
	volatile int going;
	struct child children[MAX_CHILDREN];
} *shared;
static long threads = 5, pace_us = 100000;
static int born, first;

NOINLINE uint64_t work(struct child *me, uint64_t x)
{
	__atomic_fetch_add(&me->works, 1, __ATOMIC_RELAXED);
	return target_mix(x, 5);
}

static void *works(void *arg)
{
	struct child *me = arg;
	uint64_t h = 1;
	while (!me->end) {
		if (shared->going)
			h = work(me, h);
		target_sleep_us(pace_us);
	}
	return (void *)(uintptr_t)(h == 0);
}

/* live is what a child does; it ends with its parent. */
static void live(struct child *me, pid_t parent)
{
	pthread_t t[MAX_THREADS];
	for (long i = 1; i < threads; i++)
		if (pthread_create(&t[i], NULL, works, me) != 0)
			_exit(2);
	while (!me->end && getppid() == parent) {
		if (shared->going)
			work(me, 2);
		target_sleep_us(pace_us);
	}
	me->end = 1;
	for (long i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	_exit(33);
}

static void beget(int n)
{
	pid_t parent = getpid();
	fflush(stdout);
	for (; n > 0 && born < MAX_CHILDREN; n--, born++) {
		struct child *c = &shared->children[born];
		pid_t pid = fork();
		if (pid < 0)
			target_bad("fork: %s", strerror(errno));
		if (pid == 0) {
			signal(SIGTERM, SIG_DFL);
			alarm(600);
			live(c, parent);
		}
		c->pid = pid;
	}
	printf("BORN %d\n", born);
}

static void reap(struct child *c)
{
	int status;
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			target_bad("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 33)
		target_bad("child %d ended with %x, want exit 33", (int)c->pid, status);
	c->gone = 1;
}

static void bury(int n)
{
	int from = first;
	for (; n > 0 && first < born; n--, first++)
		shared->children[first].end = 1;
	for (int i = from; i < first; i++)
		reap(&shared->children[i]);
	printf("GONE %d\n", first);
}

static void command(const char *line)
{
	int n;
	if (sscanf(line, "more %d", &n) == 1)
		beget(n);
	else if (sscanf(line, "end %d", &n) == 1)
		bury(n);
	else if (strcmp(line, "pause") == 0) {
		shared->going = 0;
		target_sleep_us(2 * pace_us + 50000); /* until the last has done what it was at */
		printf("PAUSED\n");
	}
}

static void report(void)
{
	uint64_t all = 0, gone = 0, least = UINT64_MAX, most = 0;
	for (int i = 0; i < born; i++) {
		uint64_t n = shared->children[i].works;
		all += n;
		gone += shared->children[i].gone ? n : 0;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	target_count("work", all);
	if (gone)
		target_count("work_gone", gone);
	target_count("work_least", born ? least : 0);
	target_count("work_most", most);
	target_count("children", (uint64_t)born);
}

int main(int argc, char **argv)
{
	target_start();
	long children = target_arg(argc, argv, 1, 4);
	threads = target_arg(argc, argv, 2, threads);
	pace_us = target_arg(argc, argv, 3, pace_us);
	if (children > MAX_CHILDREN || threads < 1 || threads > MAX_THREADS)
		target_bad("crowd: too many children or threads");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	target_command = command;
	beget((int)children);
	while (!target_stopping) {
		target_poll(20);
		if (target_going && !shared->going && !target_stopping) {
			target_going = 0;
			shared->going = 1;
		}
	}
	report(); /* before the last children end: what they did is all there */
	bury(born);
	return target_finish(target_mix(5, (uint64_t)threads));
}
