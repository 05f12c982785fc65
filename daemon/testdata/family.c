/* A parent and its children: forked, vforked, spawned, grandchildren, and children that live on. Each child does known work and
 * ends with a known status. COUNT work is what this process did, vforked children included, which run on its memory.
 * family [rounds]
 * Line "long": one more child that works until the end; it says CHILD <pid>. */
#include "target.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CALLS = 40, MAX_LONG = 8 };
static uint64_t worked;
static uint64_t expected;
static pid_t living[MAX_LONG];
static int ends[MAX_LONG], lives;
extern char **environ;

NOINLINE uint64_t helper(uint64_t x)
{
	return target_mix(x, 3);
}

NOINLINE uint64_t work(uint64_t x)
{
	worked++;
	return helper(target_mix(x, 21));
}

NOINLINE uint64_t work_all(void)
{
	uint64_t h = 1;
	for (int i = 0; i < CALLS; i++)
		h = work(h);
	return h;
}

static void must_end_with(pid_t pid, int wanted)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			target_bad("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		target_bad("child %d ended with %x, want exit %d", (int)pid, status, wanted);
}

static int child_result(void)
{
	return work_all() == expected ? 33 : 34;
}

NOINLINE void forks(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		pid_t grandchild = fork();
		if (grandchild == 0)
			_exit(child_result());
		must_end_with(grandchild, 33);
		_exit(child_result());
	}
	must_end_with(pid, 33);
}

/* A child that the C library knows nothing of. */
NOINLINE void raw_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_fork);
	if (pid == 0)
		syscall(SYS_exit_group, child_result());
	must_end_with(pid, 33);
}

NOINLINE void vforks(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		work(1);
		_exit(35);
	}
	must_end_with(pid, 35);
}

NOINLINE void spawns(void)
{
	pid_t pid;
	char *argv[] = {"true", NULL};
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0)
		target_bad("posix_spawn");
	must_end_with(pid, 0);
}

/* live works until the pipe that its parent holds is closed. */
static void live(int fd)
{
	char c;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	while (read(fd, &c, 1) < 0) {
		if (work_all() != expected)
			_exit(34);
		target_sleep_us(300);
	}
	_exit(33);
}

static void command(const char *line)
{
	int p[2];
	if (strcmp(line, "long") != 0 || lives == MAX_LONG || pipe2(p, O_CLOEXEC) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < lives; i++)
			close(ends[i]);
		close(p[1]);
		live(p[0]);
	}
	close(p[0]);
	ends[lives] = p[1];
	living[lives++] = pid;
	printf("CHILD %d\n", (int)pid);
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 100);
	target_command = command;
	expected = work_all();
	worked = 0;
	target_wait_go();
	for (long i = 0; i < rounds; i++) {
		if (work_all() != expected)
			target_bad("hash differs");
		forks();
		raw_fork();
		vforks();
		spawns();
		target_poll(0);
	}
	target_count("work", worked);
	target_count("rounds", (uint64_t)rounds);
	printf("DONE\n");
	target_wait_stop();
	for (int i = 0; i < lives; i++)
		close(ends[i]);
	for (int i = 0; i < lives; i++)
		must_end_with(living[i], 33);
	return target_finish(expected);
}
