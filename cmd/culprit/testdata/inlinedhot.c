/* Computes in a function that has code of its own, where nearly all of the time is spent, and is inlined besides. */
#include "target.h"

static inline __attribute__((always_inline)) uint64_t grind(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		x = target_mix(x, (uint64_t)i);
	return x;
}
uint64_t (*volatile pointed)(uint64_t) = grind;

int main(void)
{
	uint64_t x = 1;
	target_start();
	target_wait_go();
	x = grind(x);
	while (target_running())
		x = pointed(x);
	return target_finish(x != 0);
}
