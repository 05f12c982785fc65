/* exec drops everything that was in the process and keeps its pid.
 * Line "exec": the main thread calls exec on this program again; "execthread": another thread does;
 * "execother PATH": the main thread becomes another program. It says READY again afterwards.
 * execer [leader|thread]: who does so at a SIGUSR2, in its handler. */
#include "target.h"
#include <pthread.h>

static char **own_argv;
static char other[256];
static volatile int wanted; /* 1 exec, 2 execthread, 3 execother */

static void command(const char *line)
{
	if (strcmp(line, "exec") == 0)
		wanted = 1;
	else if (strcmp(line, "execthread") == 0)
		wanted = 2;
	else if (sscanf(line, "execother %255s", other) == 1)
		wanted = 3;
}

NOINLINE uint64_t work(uint64_t x)
{
	return target_mix(x, 13);
}

static void exec_again(const char *path)
{
	char *argv[] = {own_argv[0], own_argv[0] ? own_argv[1] : NULL, NULL};
	execv(path, argv);
	target_bad("exec %s: %s", path, strerror(errno));
}

static void *exec_from_thread(void *arg)
{
	exec_again("/proc/self/exe");
	return arg;
}

static void take_usr2(int how)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(how, &set, NULL);
}

/* exec does not change the mask, in which the signal is blocked while it is handled. */
static void on_usr2(int sig)
{
	(void)sig;
	take_usr2(SIG_UNBLOCK);
	exec_again("/proc/self/exe");
}

static void *bystander(void *arg)
{
	take_usr2(arg ? SIG_UNBLOCK : SIG_BLOCK);
	for (;;)
		target_sleep_us(10000);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int by_thread = argc > 1 && strcmp(argv[1], "thread") == 0;
	own_argv = argv;
	target_command = command;
	take_usr2(SIG_BLOCK);
	signal(SIGUSR2, on_usr2);
	pthread_create(&t, NULL, bystander, by_thread ? &t : NULL);
	take_usr2(by_thread ? SIG_BLOCK : SIG_UNBLOCK);
	target_start();
	uint64_t n = 0;
	while (target_running()) {
		work(n++);
		if (wanted == 1)
			exec_again("/proc/self/exe");
		if (wanted == 3)
			exec_again(other);
		if (wanted == 2) {
			pthread_create(&t, NULL, exec_from_thread, NULL);
			pthread_join(t, NULL);
		}
		target_sleep_us(500);
	}
	target_count("work", n);
	return target_finish(work(1));
}
