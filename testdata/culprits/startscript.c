// Cause: a start script waits two seconds, then executes the server in its place; the server computes all the time, in
// render_report(). "ready" is the script's, so that the exec happens while the process is being measured.
// Right: CPUbound at render_report()
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char script[] = "echo ready; sleep 2; exec \"$0\" serve";
static volatile uint64_t totals[16];

__attribute__((noinline)) uint64_t next_order(uint64_t n)
{
	return n * 6364136223846793005u + 1442695040888963407u;
}

__attribute__((noinline)) uint64_t render_report(uint64_t order)
{
	uint64_t h = order;
	for (int i = 0; i < 200000; i++)
		h = (h ^ (h >> 11)) * 1099511628211u;
	return h;
}

static void serve(void)
{
	uint64_t order = 1;
	for (;;) {
		order = next_order(order);
		totals[order >> 60] += render_report(order);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "serve"))
		serve();
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return 1;
	self[n] = 0;
	execlp("sh", "sh", "-c", script, self, (char *)NULL);
	perror("sh");
	return 1;
}
