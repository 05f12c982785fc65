/* A program with limits on its memory, which says BAD when it cannot have what it needs.
 * lockall lock: all of its memory is locked, what it maps later too. lockall space: its address space is limited to 300 MiB, of which it
 * takes 200 now and then. lockall tight: it is limited to 14 MiB more than it has at first, of which it takes 12 now and then.
 * lockall free: nothing is limited. */
#include "target.h"
#include <sys/mman.h>
#include <sys/resource.h>

NOINLINE uint64_t work(uint64_t h)
{
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, i);
	return h;
}

/* mapped is how many bytes of address space the program has. */
static size_t mapped(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%zu", &pages) != 1)
		target_bad("cannot read statm");
	fclose(f);
	return pages * 4096;
}

int main(int argc, char **argv)
{
	int lock = argc > 1 && strcmp(argv[1], "lock") == 0, tight = argc > 1 && strcmp(argv[1], "tight") == 0;
	int space_too = tight || (argc > 1 && strcmp(argv[1], "space") == 0);
	size_t most = tight ? mapped() + (14 << 20) : 300 << 20, takes = tight ? 12 << 20 : 200 << 20;
	struct rlimit space = {most, most};
	uint64_t h = 0;
	target_start();
	if ((lock && mlockall(MCL_CURRENT | MCL_FUTURE)) || (space_too && setrlimit(RLIMIT_AS, &space)))
		target_bad("cannot set limits");
	while (target_running()) {
		if (space_too) {
			void *m = mmap(NULL, takes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (m == MAP_FAILED)
				target_bad("no memory");
			munmap(m, takes);
		}
		h = work(1);
		target_sleep_us(100);
	}
	return target_finish(h);
}
