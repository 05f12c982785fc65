/* Forks children that call a function some times and end at once, when it is told to go. */
#include "target.h"
#include <sys/wait.h>
#include <unistd.h>

NOINLINE uint64_t work(uint64_t n) { return target_mix(n, 3); }

int main(int argc, char **argv)
{
	target_start();
	int children = (int)target_arg(argc, argv, 1, 4);
	target_wait_go();
	uint64_t hash = work(1);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit((int)(work((uint64_t)i) & 1));
		waitpid(pid, NULL, 0);
	}
	printf("DONE\n");
	fflush(stdout);
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
