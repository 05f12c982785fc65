/* A function whose name a terminal cannot show. */
#include "target.h"

NOINLINE uint64_t odd(uint64_t x) __asm__("\"evil\x1b[2J\"");
NOINLINE uint64_t odd(uint64_t x)
{
	return target_mix(x, 3);
}

int main(void)
{
	target_start();
	uint64_t n = 0;
	while (target_running())
		odd(n++);
	target_count("odd", n);
	return target_finish(odd(1));
}
