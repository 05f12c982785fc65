/* Maps the page of one of its functions a second time, as node does with the built-in functions of V8, and calls it in both places.
   The program counts itself what probes have to count. */
#include "target.h"
#include <fcntl.h>
#include <sys/mman.h>

#define KEEP __asm__ volatile("" : : : "memory")

NOINLINE int first(int v) { KEEP; return v * 3 + 1; }
__attribute__((section(".text.z"), aligned(4096))) NOINLINE int second(int v) { KEEP; return v * 5 + 2; }
__attribute__((section(".text.z"), aligned(4096))) NOINLINE int third(int v) { KEEP; return v * 7 + 3; }

static void *again(void *at)
{
	unsigned long lo, hi, off;
	char line[400], perms[8];
	FILE *f = fopen("/proc/self/maps", "r");
	int exe = open("/proc/self/exe", O_RDONLY);
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s %lx", &lo, &hi, perms, &off) == 4 && lo <= (unsigned long)at && (unsigned long)at < hi)
			return mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe, (off_t)(off + (unsigned long)at - lo));
	return MAP_FAILED;
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 1000), sum = 0;
	int (*volatile copy)(int) = again((void *)second);
	if ((void *)copy == MAP_FAILED)
		target_bad("the page is not mapped again");
	target_wait_go();
	for (int n = 0; n < rounds; n++)
		sum += first(n) + second(n) + copy(n) + third(n);
	target_count("first", (uint64_t)rounds);
	target_count("second", (uint64_t)rounds * 2);
	target_count("third", (uint64_t)rounds);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((uint64_t)sum);
}
