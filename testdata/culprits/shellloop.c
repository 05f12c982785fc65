// Cause: a shell loop starts one short program after the other; each computes for about 0.2 s, in make_thumbnail(), and ends.
// Together they fill one CPU.
// Right: ShortLivedProcesses at *
// Right: CPUbound at make_thumbnail()
// Processes: tree
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char script[] = "echo ready; while :; do \"$0\" thumbnail; done";
static volatile uint64_t sum;

__attribute__((noinline)) uint64_t make_thumbnail(uint64_t seed)
{
	uint64_t h = seed;
	for (int i = 0; i < 100000; i++)
		h = (h ^ (h >> 11)) * 1099511628211u;
	return h;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int thumbnail(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (double end = seconds() + 0.2; seconds() < end;)
		sum += make_thumbnail(sum);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "thumbnail"))
		return thumbnail();
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return 1;
	self[n] = 0;
	execlp("sh", "sh", "-c", script, self, (char *)NULL);
	perror("sh");
	return 1;
}
