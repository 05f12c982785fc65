/* A program with limits on its memory, which says BAD when it cannot have what it needs.
 * lockall lock: all of its memory is locked, what it maps later too. lockall space: its address space is limited to 300 MiB, of which it
 * takes 200 now and then. lockall free: nothing is limited. */
#include "target.h"
#include <sys/mman.h>
#include <sys/resource.h>

NOINLINE uint64_t work(uint64_t h)
{
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, i);
	return h;
}

int main(int argc, char **argv)
{
	struct rlimit space = {300 << 20, 300 << 20};
	int lock = argc > 1 && strcmp(argv[1], "lock") == 0, space_too = argc > 1 && strcmp(argv[1], "space") == 0;
	uint64_t h = 0;
	target_start();
	if ((lock && mlockall(MCL_CURRENT | MCL_FUTURE)) || (space_too && setrlimit(RLIMIT_AS, &space)))
		target_bad("cannot set limits");
	while (target_running()) {
		if (space_too) {
			void *m = mmap(NULL, 200 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (m == MAP_FAILED)
				target_bad("no memory");
			munmap(m, 200 << 20);
		}
		h = work(1);
		target_sleep_us(100);
	}
	return target_finish(h);
}
