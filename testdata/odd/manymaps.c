/* A program that has nearly as many mappings as it may have, and takes the last ones now and then; it says BAD when it cannot.
 * manymaps SPARE: so many pairs of mappings are free for it, of which it takes all but one. */
#include "target.h"
#include <sys/mman.h>

enum { SIZE = 4096, FEW = 1 };
static char *base;

static int set(int i, int protection) { return mprotect(base + 2L * SIZE * i + SIZE, SIZE, protection); }

NOINLINE uint64_t work(uint64_t h)
{
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, i);
	return h;
}

static int most_mappings(void)
{
	int n = 0;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
	if (!f || fscanf(f, "%d", &n) != 1 || n > 1 << 20)
		target_bad("how many mappings it may have cannot be told");
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	int spare = argc > 1 ? atoi(argv[1]) : 3, most, n = 0;
	uint64_t h = 0;
	target_start();
	most = most_mappings();
	base = mmap(NULL, 2L * SIZE * (most + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		target_bad("no memory");
	while (n < most && set(n, PROT_READ | PROT_WRITE) == 0)
		n++;
	for (int i = 0; i < spare; i++)
		set(--n, PROT_NONE);
	while (target_running()) {
		h = work(1);
		for (int i = 0; i < spare - FEW; i++)
			if (set(n + i, PROT_READ | PROT_WRITE))
				target_bad("mprotect: %s, %d of %d", strerror(errno), i, spare);
		for (int i = 0; i < spare - FEW; i++)
			set(n + i, PROT_NONE);
		target_sleep_us(1000);
	}
	return target_finish(h);
}
