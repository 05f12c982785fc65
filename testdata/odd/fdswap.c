/* A program beside which a process runs that shares nothing with it but the table of descriptors, and puts the victim's file, which it
 * may not read, in the place of every descriptor that appears: whoever opens what the program has open, opens the victim.
 * fdswap VICTIM */
#include "target.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { SOME = 24 };

static int swapper(void *victim)
{
	int fd = open((const char *)victim, O_PATH), fresh[SOME];
	pid_t parent = getppid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 3; i < SOME; i++)
		fresh[i] = fcntl(i, F_GETFD) < 0;
	if (fd < 0 || dup2(fd, 200) < 0)
		_exit(1);
	while (getppid() == parent)
		for (int i = 3; i < SOME; i++)
			if (fresh[i] && fcntl(i, F_GETFD) >= 0)
				dup2(200, i);
	return 0;
}

static NOINLINE uint64_t work(uint64_t h)
{
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, i);
	return h;
}

int main(int argc, char **argv)
{
	static char stack[1 << 16];
	uint64_t h = 0;
	target_start();
	if (argc < 2 || clone(swapper, stack + sizeof stack, CLONE_FILES | SIGCHLD, argv[1]) < 0)
		target_bad("cannot start");
	while (fcntl(200, F_GETFD) < 0)
		target_sleep_us(1000);
	while (target_running()) {
		h = work(1);
		target_sleep_us(200);
	}
	return target_finish(h);
}
