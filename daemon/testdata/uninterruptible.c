/* A thread that stands still in the kernel for a while, as in uninterruptible sleep: it has vforked and waits for its child. The
 * others work on.
 * Line "wait MS": it does so for that long; the program says WAITING <tid>, and OVER. COUNT work is exact. */
#include "target.h"
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile long wanted_ms;
static uint64_t worked;

NOINLINE uint64_t work(uint64_t x)
{
	worked++;
	return target_mix(x, 23);
}

static void command(const char *line)
{
	long ms;
	if (sscanf(line, "wait %ld", &ms) == 1)
		wanted_ms = ms;
}

static void wait_in_kernel(long ms)
{
	int status;
	pid_t pid = vfork();
	if (pid == 0) {
		struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
		nanosleep(&ts, NULL);
		_exit(36);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 36)
		target_bad("vfork");
}

static void *waiter(void *arg)
{
	while (!target_stopping) {
		long ms = wanted_ms;
		if (ms > 0) {
			wanted_ms = 0;
			printf("WAITING %d\n", (int)syscall(SYS_gettid));
			wait_in_kernel(ms);
			printf("OVER\n");
		}
		target_sleep_us(500);
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	uint64_t hash = target_mix(1, 23);
	target_start();
	target_command = command;
	pthread_create(&t, NULL, waiter, NULL);
	target_wait_go();
	while (target_running()) {
		if (work(1) != hash)
			target_bad("hash differs");
		target_sleep_us(100);
	}
	pthread_join(t, NULL);
	target_count("work", worked);
	printf("DONE\n");
	target_stopping = 0;
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
