/* Processes that run on the memory of another without being threads of it: clone with CLONE_VM, without CLONE_THREAD and CLONE_VFORK.
 * clonevm [peers] */
#include "target.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { MAX_PEERS = 16, STACK = 64 << 10 };
static volatile int over;
static uint64_t sums[MAX_PEERS];

/* Most of the time is spent at the third instruction of each function, within the first five bytes, where a jump would be written. */
#define STEP(name, factor)                                                                                     \
	NOINLINE uint64_t name(uint64_t h)                                                                     \
	{                                                                                                      \
		unsigned a, b, c, d;                                                                           \
		__asm__ volatile("xor %%eax, %%eax\n\tcpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d)::"memory"); \
		for (uint64_t i = 0; i < 50; i++)                                                              \
			h = h * factor + (i ^ (h >> 7));                                                       \
		return h;                                                                                      \
	}
STEP(step_a, 3)
STEP(step_b, 5)

NOINLINE uint64_t work(uint64_t h)
{
	__asm__ volatile("" : "+r"(h));
	return step_a(step_b(h));
}

static int peer(void *arg)
{
	uint64_t *mine = arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	uint64_t hash = work(1);
	while (!over) {
		if (work(1) != hash)
			_exit(3);
		(*mine)++;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	target_start();
	int n = (int)target_arg(argc, argv, 1, 6);
	pid_t pids[MAX_PEERS];
	for (int i = 0; i < n; i++) {
		char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pids[i] = clone(peer, stack + STACK, CLONE_VM | SIGCHLD, &sums[i]);
		if (pids[i] < 0)
			target_bad("clone: %s", strerror(errno));
	}
	uint64_t hash = work(1);
	while (target_running()) {
		if (work(1) != hash)
			target_bad("hash differs");
		target_sleep_us(200);
	}
	over = 1;
	for (int i = 0; i < n; i++) {
		int status;
		while (waitpid(pids[i], &status, 0) < 0)
			if (errno != EINTR)
				target_bad("waitpid: %s", strerror(errno));
		if (status != 0 || sums[i] == 0)
			target_bad("a process on this memory ended with %#x", status);
	}
	return target_finish(hash);
}
