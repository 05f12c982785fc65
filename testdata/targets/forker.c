/* fork, from the main thread and from another: children do known work, end with a known status, and must not
 * count into their parent. COUNT work is what the parent alone did; work_in_children is what its children did.
 * forker [calls of work a round] */
#include "target.h"
#include <pthread.h>
#include <sys/wait.h>

static long calls = 100;
static uint64_t worked; /* in this process */
static uint64_t children;
static volatile int on = 1;

NOINLINE uint64_t work(uint64_t x)
{
	__atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
	return target_mix(x, 21);
}

NOINLINE uint64_t work_all(void)
{
	uint64_t h = 1;
	for (long i = 0; i < calls; i++)
		h = work(h);
	return h;
}

NOINLINE void one_child(uint64_t expected)
{
	int status;
	pid_t pid = fork();
	if (pid < 0)
		target_bad("fork: %s", strerror(errno));
	if (pid == 0)
		_exit(work_all() == expected ? 33 : 34);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			target_bad("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 33)
		target_bad("a child ended with %x", status);
	__atomic_fetch_add(&children, 1, __ATOMIC_RELAXED);
}

static void *forking_thread(void *arg)
{
	while (on) {
		one_child(*(uint64_t *)arg);
		target_sleep_us(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	target_start();
	calls = target_arg(argc, argv, 1, calls);
	uint64_t hash = work_all();
	pthread_create(&t, NULL, forking_thread, &hash);
	while (target_running()) {
		one_child(hash);
		if (work_all() != hash)
			target_bad("hash differs");
		target_sleep_us(1000);
	}
	on = 0;
	pthread_join(t, NULL);
	target_count("work", worked);
	target_count("one_child", children);
	target_count("work_in_children", children * (uint64_t)calls);
	return target_finish(hash);
}
