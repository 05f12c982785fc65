/* vfork: the parent stands still in the kernel until its child ends or calls exec, and the child runs on the parent's memory.
 * Line "long N": one child that keeps its parent waiting for N seconds, for one without N. COUNT in_child is what vfork children did. */
#define _GNU_SOURCE
#include "target.h"
#include <spawn.h>
#include <sys/wait.h>

static volatile uint64_t in_child;
static uint64_t vforks, spawns;
static volatile long want_long; /* seconds */
extern char **environ;

static void command(const char *line)
{
	if (strncmp(line, "long", 4) == 0)
		want_long = line[4] ? atol(line + 4) : 1;
}

NOINLINE uint64_t child_work(long us)
{
	in_child++;
	if (us > 0)
		target_sleep_us(us);
	return in_child;
}

static void must_end_with(pid_t pid, int wanted)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			target_bad("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		target_bad("a child ended with %x", status);
}

NOINLINE void one_vfork(long us)
{
	uint64_t before = in_child;
	pid_t pid = vfork();
	if (pid < 0)
		target_bad("vfork: %s", strerror(errno));
	if (pid == 0) {
		child_work(us);
		_exit(35);
	}
	must_end_with(pid, 35);
	if (in_child != before + 1)
		target_bad("the child did not run on this memory");
	vforks++;
}

NOINLINE void one_spawn(void)
{
	pid_t pid;
	char *argv[] = {"true", NULL};
	int err = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);
	if (err)
		target_bad("posix_spawn: %s", strerror(err));
	must_end_with(pid, 0);
	spawns++;
}

int main(void)
{
	target_start();
	target_command = command;
	while (target_running()) {
		one_vfork(0);
		one_spawn();
		if (want_long) {
			long us = want_long * 1000000;
			want_long = 0;
			printf("LONG begins\n");
			one_vfork(us);
			printf("LONG ends\n");
		}
		target_sleep_us(1000);
	}
	target_count("one_vfork", vforks);
	target_count("in_child", in_child);
	target_count("one_spawn", spawns);
	return target_finish(target_mix(2, 2));
}
