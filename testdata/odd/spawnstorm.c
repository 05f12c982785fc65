/* posix_spawn from four threads at once, with descriptors and signal masks for the children, and vfork between: each child's output
 * and status are looked at. */
#include "target.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#define THREADS 4

extern char **environ;
static uint64_t spawned[THREADS], forked[THREADS];

static void must_end_with(pid_t pid, int wanted)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			target_bad("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		target_bad("a child ended with %x", status);
}

NOINLINE void spawn_echo(void)
{
	char *argv[] = {"echo", "said", NULL}, said[16];
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int p[2];
	if (pipe2(p, O_CLOEXEC) != 0)
		target_bad("pipe2: %s", strerror(errno));
	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	int err = posix_spawn(&pid, "/bin/echo", &fa, &attr, argv, environ);
	if (err)
		target_bad("posix_spawn: %s", strerror(err));
	close(p[1]);
	ssize_t n, have = 0;
	while ((n = read(p[0], said + have, sizeof said - (size_t)have)) > 0)
		have += n;
	if (have != 5 || memcmp(said, "said\n", 5) != 0)
		target_bad("the child said %zd bytes", have);
	close(p[0]);
	must_end_with(pid, 0);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
}

NOINLINE uint64_t child_work(uint64_t h)
{
	for (uint64_t i = 0; i < 20; i++)
		h = target_mix(h, i);
	return h;
}

NOINLINE void one_vfork(uint64_t h)
{
	volatile uint64_t result = 0;
	pid_t pid = vfork();
	if (pid < 0)
		target_bad("vfork: %s", strerror(errno));
	if (pid == 0) {
		result = child_work(h);
		_exit(35);
	}
	must_end_with(pid, 35);
	if (result != child_work(h))
		target_bad("the child's work came out otherwise");
}

static void *storm(void *arg)
{
	long i = (long)(intptr_t)arg;
	while (!target_stopping) {
		spawn_echo();
		spawned[i]++;
		one_vfork(spawned[i]);
		forked[i]++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t all = 0;
	target_start();
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, storm, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += spawned[i];
	}
	if (all == 0)
		target_bad("nothing was spawned");
	target_count("spawned", all);
	return target_finish(child_work(1));
}
