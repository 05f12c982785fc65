/* Takes the free memory around code, so that nobody finds room for more. */
#ifndef CROWD_H
#define CROWD_H
#include "target.h"
#include <sys/mman.h>

enum { CROWD_GAPS = 4096 };
#define CROWD_REACH (2ul << 30)

/* crowd maps what is free within 2 GiB of [lo, hi), but for the first leave bytes of each piece. It returns how many MiB. */
MAYBE_UNUSED static unsigned long crowd(uintptr_t lo, uintptr_t hi, size_t leave)
{
	static uintptr_t from[CROWD_GAPS], to[CROWD_GAPS];
	unsigned long at = 1 << 20, start, end, taken = 0;
	int n = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	if (!maps)
		target_bad("maps: %s", strerror(errno));
	lo = lo > CROWD_REACH + at ? lo - CROWD_REACH : at;
	hi += CROWD_REACH;
	while (fgets(line, sizeof line, maps) && n < CROWD_GAPS) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		from[n] = at > lo ? at : lo;
		to[n] = start < hi ? start : hi;
		n += to[n] > from[n] + leave;
		at = end;
	}
	fclose(maps);
	for (int i = 0; i < n; i++) {
		size_t size = to[i] - from[i] - leave;
		if (mmap((void *)(from[i] + leave), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
			target_bad("mmap of %zu bytes: %s", size, strerror(errno));
		taken += size >> 20;
	}
	return taken;
}
#endif
