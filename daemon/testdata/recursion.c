/* A function that calls itself twice, one that does not, and one that is left by a jump only. */
#include "target.h"
#include <setjmp.h>

static jmp_buf out;

NOINLINE uint64_t once(uint64_t n) { return target_mix(n, 1); }

NOINLINE uint64_t climbs(uint64_t n)
{
	if (n == 0)
		return once(n);
	return target_mix(climbs(n - 1), 3) + climbs(n - 1);
}

NOINLINE void leaves(uint64_t n)
{
	if (once(n))
		longjmp(out, 1);
	longjmp(out, 2);
}

int main(void)
{
	uint64_t hash = 0;
	target_start();
	target_wait_go();
	for (uint64_t n = 0; n < 100; n++) {
		if (!setjmp(out))
			leaves(n);
		hash += climbs(n % 5);
	}
	target_wait_stop();
	return target_finish(hash);
}
